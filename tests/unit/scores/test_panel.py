"""A panel from a CSV file: the published leaderboard as it is, and scores in the columns of imported ones."""

from pathlib import Path

import pandas as pd
import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.panel import panel_of
from workflow_scripts.scores.published_leaderboard import read_panel
from workflow_scripts.settings.tables import read_tasks

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "resources/published"
METRICS = {name: row.full_metric for name, row in read_tasks(ROOT / "config/tasks.tsv").items()}


def written(path: Path, models: int, **columns) -> Path:
    rows = [
        {"model": f"org/m{at}", "task": task, "protocol": "few_shot", "metric": "acc"}
        | {"value": (at + shift) / 100}
        for at in range(models)
        for shift, task in enumerate(("rte", "mnli"))
    ]
    pd.DataFrame(rows).assign(**columns).to_csv(path, index=False)
    return path


def test_the_published_leaderboard_is_read_as_it_is():
    found = panel_of(PUBLISHED / "harmony_leaderboard.csv", METRICS)
    printed = read_panel(PUBLISHED / "harmony_leaderboard.csv").dropna()
    pd.testing.assert_frame_equal(found.scores, printed, check_names=False, rtol=0, atol=1e-12)
    assert found.protocol == "train_before_test"


def test_of_several_protocols_those_after_training_count_and_texts_are_no_tasks():
    found = panel_of(PUBLISHED / "harmony_cells.csv", METRICS)
    long = pd.read_csv(PUBLISHED / "harmony_cells.csv")
    long = long[(long["protocol"] == "train_before_test") & (long["metric"] != "bits_per_byte")]
    wide = long.pivot(index="model", columns="task", values="value")
    assert found.scores.shape == (61, 24)
    pd.testing.assert_frame_equal(
        found.scores.sort_index().sort_index(axis=1), wide, check_names=False
    )


def test_models_with_a_hole_are_left_out_and_another_protocol_will_do(tmp_path):
    path = written(tmp_path / "archive.csv", 12)
    table = pd.read_csv(path)
    table.drop(index=3).to_csv(path, index=False)  # of org/m1 on mnli
    found = panel_of(path, METRICS)
    assert found.protocol == "few_shot"
    assert list(found.scores.columns) == ["rte", "mnli"]
    assert len(found.scores) == 11 and "org/m1" not in found.scores.index
    assert found.scores.loc["org/m4", "mnli"] == 0.05


def test_the_scores_of_a_run_are_a_panel_by_what_was_ranked_there(tmp_path):
    """All in one file: its own ranking, scores that it imported, and those of other studies."""
    own = pd.read_csv(written(tmp_path / "own.csv", 12)).assign(study="harmony")
    theirs = own.assign(study="archive", model=own["model"] + "-theirs", value=own["value"] / 2)
    suite = own.head(3).assign(study="suite", shots=25, value=0.9)
    answers = own.head(2).assign(
        study="mmlu", task="mmlu", metric="acc", protocol="likeliest letter"
    )
    path = tmp_path / "scores.csv"
    pd.concat([answers, own, suite, theirs]).to_csv(path, index=False)
    found = panel_of(path, METRICS).scores
    assert len(found) == 24 and list(found.columns) == ["rte", "mnli"]
    assert found.loc["org/m4"].tolist() == pytest.approx([0.04, 0.05])
    assert found.loc["org/m4-theirs"].tolist() == pytest.approx([0.02, 0.025])
    answers.to_csv(path, index=False)
    with pytest.raises(UserError, match="has scores of mmlu; expected some of the study harmony"):
        panel_of(path, METRICS)


def test_what_is_no_panel_is_a_sentence(tmp_path):
    with pytest.raises(UserError, match="9 models with a score on each of its 2 tasks"):
        panel_of(written(tmp_path / "few.csv", 9), METRICS)
    path = written(tmp_path / "two.csv", 12)
    both = pd.concat([pd.read_csv(path), pd.read_csv(path).assign(protocol="direct")])
    both.to_csv(path, index=False)
    with pytest.raises(UserError, match="scores under direct and few_shot; a panel is expected"):
        panel_of(path, METRICS)


def test_means_are_over_seeds_and_over_nothing_else(tmp_path):
    """A run that imported the scores it reproduces has both in its scores.csv; its own are the panel's."""
    path = tmp_path / "scores.csv"
    own = pd.read_csv(written(tmp_path / "own.csv", 12)).assign(study="harmony", seed=1)
    again = own.assign(seed=2, value=own["value"] + 0.02)
    theirs = own.assign(study="archive", seed=None, value=0.9)
    pd.concat([theirs, own, again]).to_csv(path, index=False)
    assert panel_of(path, METRICS).scores.loc["org/m4"].tolist() == pytest.approx([0.05, 0.06])
    path = written(tmp_path / "archive.csv", 12, shots=5)
    table = pd.read_csv(path)
    pd.concat([table, table.head(1).assign(shots=0)]).to_csv(path, index=False)
    with pytest.raises(
        UserError,
        match=r"archive\.csv has .* org/m0 on rte with several numbers of examples, 5 and 0;",
    ):
        panel_of(path, METRICS)
    pd.concat([table, table.tail(1).assign(seed=1)]).to_csv(path, index=False)
    with pytest.raises(UserError, match=r"org/m11 on mnli with a seed and without; a panel"):
        panel_of(path, METRICS)


def test_of_two_imports_of_a_run_none_is_taken_for_the_other(tmp_path):
    """Whichever was taken, the panel would be another, and nobody had said so."""
    path = tmp_path / "scores.csv"
    own = pd.read_csv(written(tmp_path / "own.csv", 12)).assign(study="harmony")
    theirs = own.assign(model="theirs/m", study="release", seed=1).head(2)
    again = theirs.assign(study="archive", seed=2, value=0.9)
    pd.concat([own, theirs, again.tail(1)]).to_csv(path, index=False)
    with pytest.raises(
        UserError, match=r"scores\.csv has scores of theirs/m on mnli .* from archive and release;"
    ):
        panel_of(path, METRICS)


def test_a_task_on_which_all_are_alike_is_no_part_of_the_panel(tmp_path):
    path = written(tmp_path / "archive.csv", 12)
    table = pd.read_csv(path)
    table["value"] = table["value"].where(table["task"] == "mnli", 0.0)
    table.to_csv(path, index=False)
    assert list(panel_of(path, METRICS).scores) == ["mnli"]
    # The mean of 0.1 and 0.2 is another than that of 0.15 and 0.15 in the last digit.
    for seed, turns in ((1, (0.1, 0.15)), (2, (0.2, 0.15))):
        alike = pd.Series(turns * 12).repeat(2).head(24).to_numpy()
        value = table["value"].where(table["task"] == "mnli", alike)
        table.assign(seed=seed, value=value).to_csv(
            path, index=False, mode="w" if seed == 1 else "a", header=seed == 1
        )
    assert list(panel_of(path, METRICS).scores) == ["mnli"]
    table.assign(value=0.5).to_csv(path, index=False)
    with pytest.raises(UserError, match="no task on which its models differ"):
        panel_of(path, METRICS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda wide: wide.assign(average=50.0), "the column 'average' is no task"),
        (lambda wide: wide.assign(family="Qwen"), "the column 'family' is no task"),
        (
            lambda wide: wide.assign(rte=wide["rte"] * 100),
            "line 2: value is .*; expected a number from 0 to 100",
        ),
        (
            lambda wide: pd.concat([wide, wide.head(1)]),
            r"^\S+board\.csv, line 63: Qwen/Qwen2\.5-14B stands here a second time; [^;]+$",
        ),
        (
            lambda wide: wide.assign(model=wide["model"].where(wide.index != 4)),
            r"^\S+board\.csv, line 6: the column 'model' is empty\.$",
        ),
        (lambda wide: wide[["model", "rank", "pc1"]], "has no score below its header"),
        (lambda wide: wide.head(9), "9 models with a score"),
    ],
)
def test_a_leaderboard_of_ones_own_is_read_as_strictly(tmp_path, change, said):
    path = tmp_path / "board.csv"
    change(pd.read_csv(PUBLISHED / "harmony_leaderboard.csv")).to_csv(path, index=False)
    with pytest.raises(UserError, match=said):
        panel_of(path, METRICS)


def test_a_model_with_a_blank_cell_in_a_leaderboard_is_left_out_like_one_without_a_line(tmp_path):
    path = tmp_path / "board.csv"
    wide = pd.read_csv(PUBLISHED / "harmony_leaderboard.csv")
    wide.assign(rte=wide["rte"].where(wide.index != 4)).to_csv(path, index=False)
    found = panel_of(path, METRICS).scores
    pd.testing.assert_frame_equal(found, read_panel(path).dropna(), check_names=False)
    assert len(found) == 60
