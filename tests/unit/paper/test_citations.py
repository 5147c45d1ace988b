"""What the leaderboard's page says to cite: the works that its tabs rest on."""

import re

import pytest
import yaml

from tests.unit.settings.merged import ROOT, load
from workflow_scripts.paper.requests import leaderboard_page
from workflow_scripts.render.citations import CitedWork, bibliography, read_works

WORKS = read_works(ROOT / "resources/citations.tsv")
A = CitedWork("a", "sst2 cola", "Ann Author and Bo Writer", "On {T}asks", "2018", "1804.07461", "")
B = CitedWork("b", "gsm8k", "Cy Scribe", "On Sums", "2021", "", "https://example.org/b")


def test_each_work_is_cited_once_by_what_is_known_of_it():
    assert bibliography([A, B], ["cola", "sst2"]) == (
        "@misc{a,\n  author = {Ann Author and Bo Writer},\n  title = {{On {T}asks}},\n  year = {2018},\n"
        "  eprint = {1804.07461},\n  archivePrefix = {arXiv}\n}"
    )
    assert "url = {https://example.org/b}" in bibliography([A, B], ["gsm8k"])
    assert bibliography([A, B], []) == ""


def test_what_has_no_work_is_named_and_not_left_out_in_silence():
    text = bibliography([A, B], ["gsm8k", "my_task", "sst2", "my_task"])
    assert text.index("@misc{a") < text.index("@misc{b"), "in the order of the file"
    assert text.endswith("% Not in resources/citations.tsv, to be added by hand: my_task")


@pytest.mark.parametrize("config", ["config.yaml", "paper.yaml", "grid.yaml"])
def test_whatever_a_shipped_config_measures_can_be_cited(config):
    said = yaml.safe_load((ROOT / "config" / config).read_text(encoding="utf-8"))
    asked = leaderboard_page(load(said), measures=True)
    assert set(asked.rests_on) == {"suite", "harmony", "prompts", "chunked"}
    for names in asked.rests_on.values():
        text = bibliography(WORKS, names)
        assert "@misc" in text and "to be added by hand" not in text


def test_works_have_keys_of_their_own_and_say_where_to_find_them():
    assert len({work.key for work in WORKS}) == len(WORKS)
    for work in WORKS:
        assert re.fullmatch(r"(19|20)\d\d", work.year), work.key
        assert re.fullmatch(r"\d{4}\.\d{4,5}", work.arxiv) or work.address.startswith("https://"), (
            work.key
        )
