"""Test the leaderboard page: its tabs from the tables of the studies, and the HTML file."""

import json
import re

import pytest

from tests.browser.boards import make_hostile_page
from workflow_scripts.paper.leaderboard import main


def test_hostile_text_stays_in_data():
    page = make_hostile_page()
    assert page.count("<script") == page.count("</script>") == 3
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)
    assert not set("<>&") & set(data)
    assert len(json.loads(data)["rows"]) == 4
    page.encode("utf-8")


@pytest.mark.parametrize("source", ["miniature", None])
def test_missing_study_has_no_tab(tmp_path, source):
    main([], None, tmp_path / "leaderboard.html", source, [], {}, {})
    page = (tmp_path / "leaderboard.html").read_text(encoding="utf-8")
    assert not re.findall(r'<section id="(\w+)"', page)
    assert ("its models are tiny" in page) == bool(source)
    assert '<a href="index.html">The report</a>' in page
