"""The leaderboard page: its tabs from the tables of the studies, and the file that they become."""

import json
import re

import pandas as pd
import pytest

from tests.browser.boards import make_hostile_page, make_plain_page
from tests.unit.settings.merged import load
from tests.unit.studies.harmony.harmony_study import (
    MODELS,
    PROTOCOLS,
    SETTINGS,
    TASK_ROWS,
    grids,
    study,
    without,
)
from workflow_scripts.paper.leaderboard import main
from workflow_scripts.paper.requests import leaderboard_page
from workflow_scripts.studies.chunking.board import make_chunked_tab
from workflow_scripts.studies.harmony.board import make_harmony_tab
from workflow_scripts.studies.ranking.components import compute_components
from workflow_scripts.studies.ranking.leaderboard import compute_leaderboard


def test_page_is_the_same_bytes_and_names_nothing_to_load():
    page = make_plain_page()
    assert page == make_plain_page()
    assert not re.search(r"<script[^>]+src=", page)
    without_scripts = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert not re.search(r"<(?:link|img|iframe)\b|@import|url\(", without_scripts)
    assert "sourceMappingURL" not in page


def test_text_of_strangers_cannot_end_the_data_it_stands_in():
    page = make_hostile_page()
    assert page.count("<script") == page.count("</script>") == 3
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)
    assert not set("<>&") & set(data)
    assert len(json.loads(data)["rows"]) == 5
    page.encode("utf-8")


def test_ranking_after_training_stands_beside_the_one_before(tmp_path):
    lacking = MODELS[0]
    made = grids(without(study(), lacking, "mnli", "train_before_test"))
    ranked = compute_leaderboard(made, 20, 0)
    files = tmp_path / "leaderboard.csv", tmp_path / "components.csv"
    for table, file in zip((ranked, compute_components(made, SETTINGS, 0)), files, strict=True):
        table.to_csv(file, index=False)
    tab = make_harmony_tab(*files, list(TASK_ROWS), PROTOCOLS)
    assert tab.title == "Train before test"
    tables = {name: part.set_index("label") for name, part in ranked.groupby("protocol")}
    after, before = tables["train_before_test"], tables["direct"]
    for row in tab.rows:
        label = row["label"]
        assert row["pc1"] == pytest.approx(after["pc1"][label])
        assert (row["rank"], row["rank_direct"]) == (after["rank"][label], before["rank"][label])
        assert (row["mnli"] is None) == (label == lacking)


def test_a_chunked_checkpoint_has_a_row(tmp_path):
    rows = {"model": "a/b", "variant": [None, "@k2m2+cpt"], "stage": ["untrained", "cpt"]}
    rows |= {"accuracy": 0.5, "accuracy_stderr": 0.1, "speedup": [1.0, None]}
    pd.DataFrame(rows).to_csv(tmp_path / "quality.csv", index=False)
    tab = make_chunked_tab(tmp_path / "quality.csv")
    assert [row["name"] for row in tab.rows] == ["a/b", "a/b@k2m2+cpt"]
    assert (tab.rows[1]["accuracy"], tab.rows[1]["speedup"]) == (0.5, None)


@pytest.mark.parametrize("measures", [True, False])
def test_a_study_that_is_not_there_has_no_tab(tmp_path, measures):
    run = {"model": "a/b", "variant": None, "run": "run2", "changed": "JSON", "n": 4, "micro": 0.5}
    run |= {"micro_stderr": 0.25, "macro": 0.5, "macro_stderr": 0.25, "floor": 0.25, "p": None}
    run |= {"format_met": 1.0, "strict_share": None, "after": "run1", "pairs": 4.0, "won": 2.0}
    run |= {"difference": -0.25, "lost": 3.0, "published_micro": None, "published_macro": None}
    pd.DataFrame([run]).to_csv(tmp_path / "prompt_runs.csv", index=False)
    arguments = leaderboard_page(load({}), measures=measures)
    main([tmp_path / "prompt_runs.csv"], tmp_path / "leaderboard.html", **arguments)
    page = (tmp_path / "leaderboard.html").read_text(encoding="utf-8")
    assert re.findall(r'<section id="(\w+)"', page) == ["prompts"]
    assert ("its models are tiny" in page) == measures
    assert '<a href="index.html">The report</a>' in page
