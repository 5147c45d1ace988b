"""What stands beside the models of the leaderboard: floors, random answers and published scores."""

from pathlib import Path

import pytest
import yaml
from workflow_scripts.studies.suite.baselines import baselines

from tests.unit.settings.merged import ROOT, load
from tests.unit.studies.suite.suite_study import PUBLISHED, asked, entry, measure
from tests.unit.studies.suite.test_suite import GOOD, both, leaderboard, tab, written
from workflow_scripts.studies.suite.chapter import SUITE
from workflow_scripts.studies.suite.leaderboard import TABLE
from workflow_scripts.studies.suite.table_requests import suite_tables

pytestmark = pytest.mark.usefixtures("here")


def test_baselines_stand_above_the_models_and_are_counted_nowhere():
    one, other = entry("org/one"), entry("org/other")
    measure(one, "sst2", GOOD, floor=0.25, chance=0.3)
    measure(one, "truth", GOOD, floor=0.4)
    measure(other, "sst2", GOOD, floor=0.5, chance=0.2)
    table = written(leaderboard(one, other))
    assert len(table) == 2
    assert SUITE.values({"suite_leaderboard": table})["suite.rows"] == 2
    floor, chance, published = baselines(table, asked())
    assert floor.scores == {"sst2": 0.5, "truth": 0.4}
    assert floor.average == pytest.approx(0.45)
    assert chance.scores == {"sst2": 0.3} and chance.average is None
    assert published.scores == {"truth": 0.2} and published.average is None
    assert published.errors["truth"] == pytest.approx(0.02)
    lines = Path("suite_leaderboard.md").read_text().splitlines()
    shown = TABLE.shown(table, asked())
    assert len(shown.rows) - shown.beside == 2, "as the report counts them"
    heads = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    assert heads[2:5] == ["Floor", "Random answers", "Somebody's model"]
    assert [line.count(" baseline ") for line in lines[-5:]] == [1, 1, 1, 0, 0]


def test_the_tab_has_baselines_beside_its_rows():
    made = tab(both(entry("org/net"), GOOD))
    assert [row.values["name"] for row in made.rows] == ["org/net"]
    assert [row.values["name"] for row in made.baselines] == [
        "Floor",
        "Random answers",
        PUBLISHED.name,
    ]
    assert made.baselines[-1].details.facts == {"source": "A paper"}


@pytest.mark.parametrize(("source", "names"), [("huggingface", ["gsm8k"]), ("miniature", [])])
def test_published_baselines_are_of_tasks_of_the_suite_and_of_real_questions(source, names):
    paper = yaml.safe_load((ROOT / "config/paper.yaml").read_text(encoding="utf-8"))
    config = paper if source == "huggingface" else {}
    settings = load(config)
    found = suite_tables(settings).baselines
    assert [one.task for one in found] == names
    assert all(0 < one.percent < 100 for one in found)
    # What is its own about one stands once, in the file of protocols.
    assert [one.protocol for one in found] == len(names) * [
        (
            "training on the task: all of its training questions",
            "examples in front of an item: 0",
            "calculator: yes",
        )
    ]
