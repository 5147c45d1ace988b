"""The leaderboard page: its tabs from the tables of the studies, and the file that they become."""

import json
import re

import pandas as pd
import pytest

from tests.browser.boards import make_hostile_page
from tests.unit.settings.merged import load
from workflow_scripts.paper.leaderboard import main
from workflow_scripts.paper.requests import leaderboard_page


def test_hostile_text_stays_in_data():
    page = make_hostile_page()
    assert page.count("<script") == page.count("</script>") == 3
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)
    assert not set("<>&") & set(data)
    assert len(json.loads(data)["rows"]) == 5
    page.encode("utf-8")


@pytest.mark.parametrize("measures", [True, False])
def test_missing_study_has_no_tab(tmp_path, measures):
    run = {"model": "a/b", "variant": None, "run": "run2", "changed": "JSON", "n": 4, "micro": 0.5}
    run |= {"micro_stderr": 0.25, "macro": 0.5, "macro_stderr": 0.25, "baseline": 0.25, "p": None}
    run |= {"format_met": 1.0, "strict_share": None, "after": "run1", "pairs": 4.0, "won": 2.0}
    run |= {"difference": -0.25, "lost": 3.0, "published_micro": None, "published_macro": None}
    pd.DataFrame([run]).to_csv(tmp_path / "prompt_runs.csv", index=False)
    arguments = leaderboard_page(load({}), measures=measures)
    main([tmp_path / "prompt_runs.csv"], tmp_path / "leaderboard.html", **arguments)
    page = (tmp_path / "leaderboard.html").read_text(encoding="utf-8")
    assert re.findall(r'<section id="(\w+)"', page) == ["prompts"]
    assert ("its models are tiny" in page) == measures
    assert '<a href="index.html">The report</a>' in page
