"""Test importing scores from CSV: merged, marked as imported, in our unit, and rejected with file and line."""

from pathlib import Path

import pandas as pd
import pytest

from tests.records import collect, write_example
from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.merge import merge
from workflow_scripts.scores.panel import read_panel_scores
from workflow_scripts.settings.tables import TaskRow, read_table
from workflow_scripts.stats.proportions import compute_fraction_stderr

ROOT = Path(__file__).parents[3]
LEADERBOARD = ROOT / "resources/published/harmony_leaderboard.csv"
METRICS = {
    name: row.full_metric for name, row in read_table(TaskRow, ROOT / "config/tasks.tsv").items()
}
HEADER = "model,task,protocol,metric,value"


def test_published_leaderboard_keeps_its_metrics():
    tasks = set(read_imported(LEADERBOARD, METRICS)["task"])
    others = set(read_imported(LEADERBOARD, METRICS | {"qqp": "f1"})["task"])
    assert tasks - others == {"qqp"} and len(tasks) == 24


def read_scores(folder: Path, text: str) -> pd.DataFrame:
    path = folder / "theirs.csv"
    path.write_bytes(text.encode("latin-1"))
    return read_imported(path, METRICS).set_index(["task", "model"])


def test_zero_stderr_follows_item_count(tmp_path):
    stderr = read_scores(
        tmp_path,
        f"{HEADER},stderr,n\n"
        "a/b,sst2,direct,acc,1.0,0.0,200\n"
        "a/b,rte,direct,acc,0.0,0.0,\n"
        "c/d,rte,direct,acc,0.5,0.05,\n"
        "a/b,cola,direct,mcc,0.0,0.0,\n"
        "c/d,cola,direct,mcc,0.0,0.0,400\n"
        "a/b,mnli,direct,acc,0.0,0.0,\n",
    )["stderr"]
    assert stderr["sst2", "a/b"] == pytest.approx(compute_fraction_stderr(1.0, 200))
    # The other score of the task implies 100 items.
    assert stderr["rte", "a/b"] == pytest.approx(compute_fraction_stderr(0.0, 100))
    assert stderr["cola"].tolist() == pytest.approx([0.05, 0.05], rel=0.02)
    assert pd.isna(stderr["mnli", "a/b"]), "the number of items is unknown"


def test_published_scores_keep_study_names(tmp_path):
    write_example(tmp_path / "a.json")
    own_scores, _ = collect([tmp_path / "a.json"])
    scores = merge([own_scores], [LEADERBOARD], METRICS)
    counts = scores["study"].value_counts().to_dict()
    assert counts == {"harmony_leaderboard": 61 * 24, "harmony": 1}
    leaderboard = scores[scores["study"] == "harmony_leaderboard"].set_index(["model", "task"])
    row = leaderboard.loc["Qwen/Qwen2.5-14B", "gsm8k"]
    assert (row["value"], row["n"]) == (0.8188, 1319)
    with pytest.raises(UserError, match="other scores have the name"):
        merge([own_scores], [LEADERBOARD, LEADERBOARD], METRICS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEADER},stder\na/b,sst2,direct,acc,1,0\n", "Did you mean 'stderr'"),
        (f"{HEADER}\na/b,sst2,direct,acc,inf\n", "line 2: value"),
        (f"{HEADER}\na/b,sst2,direct,f1,1\n", "metric is 'f1'"),
        (f"{HEADER}\na/b,rte,direct,acc,0\na/b,sst2,direct,acc,96.4\n", "line 3: .*0 to 1"),
        (f"{HEADER}\na/b,sst2,direct,acc,1\na/b,sst2,direct,acc,0\n", "line 3: .*twice"),
        ("model,rank,pc1,mnly\na/b,1,2,3\n", "Did you mean 'mnli'"),
        (f"{HEADER}\nÀ/b,sst2,direct,acc,1\n", "cannot be read"),
    ],
)
def test_wrong_file_is_refused(tmp_path, text, message):
    with pytest.raises(UserError, match=rf"theirs\.csv.*{message}"):
        read_scores(tmp_path, text)


# --- The panel, on which other models are placed


def write_panel(path: Path, models: int, **columns) -> pd.DataFrame:
    rows = [
        {"model": f"org/m{index}", "task": task, "protocol": "few_shot", "metric": "acc"}
        | {"value": (index + shift) / 100}
        for index in range(models)
        for shift, task in enumerate(("rte", "mnli"))
    ]
    table = pd.DataFrame(rows).assign(**columns)
    table.to_csv(path, index=False)
    return table


def test_panel_has_printed_scores():
    printed = pd.read_csv(LEADERBOARD, index_col="model").drop(columns=["rank", "pc1"]) / 100
    panel = read_panel_scores(LEADERBOARD, METRICS)
    pd.testing.assert_frame_equal(panel, printed, check_names=False, rtol=0, atol=1e-12)


def test_panel_has_measured_scores(tmp_path):
    """Of results/scores.csv of another run, a panel has what it measured, as means over seeds."""
    path = tmp_path / "scores.csv"
    own = write_panel(path, 12, study="harmony", seed=1)
    second_seed = own.assign(seed=2, value=own["value"] + 0.02)
    imported = own.assign(study="archive", seed=None, value=0.9)
    pd.concat([imported, own, second_seed]).to_csv(path, index=False)
    panel = read_panel_scores(path, METRICS)
    assert len(panel) == 12 and list(panel.columns) == ["rte", "mnli"]
    assert panel.loc["org/m4"].tolist() == pytest.approx([0.05, 0.06])


@pytest.mark.parametrize(
    ("models", "more", "message"),
    [
        (9, {}, "9 models with a score on each task"),
        (12, {"protocol": "direct"}, "expected one protocol"),
        (12, {"shots": 5}, "several numbers of examples"),
    ],
)
def test_wrong_panel_is_refused(tmp_path, models, more, message):
    path = tmp_path / "archive.csv"
    table = write_panel(path, models)
    if more:
        table = pd.concat([table, table.assign(**more)])
    table.to_csv(path, index=False)
    with pytest.raises(UserError, match=message):
        read_panel_scores(path, METRICS)
