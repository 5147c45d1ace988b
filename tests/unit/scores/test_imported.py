"""Other people's scores: joined, marked, in our unit, and refused with file and line when wrong."""

from pathlib import Path

import pandas as pd
import pytest

from tests.records import write_example
from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.tidy import collect, merge, write_csv
from workflow_scripts.settings.tables import read_tasks
from workflow_scripts.stats.shares import share_error

ROOT = Path(__file__).parents[3]
CELLS = ROOT / "resources/published/harmony_cells.csv"
LEADERBOARD = ROOT / "resources/published/harmony_leaderboard.csv"
METRICS = {name: row.full_metric for name, row in read_tasks(ROOT / "config/tasks.tsv").items()}
HEADER = "model,task,protocol,metric,value"


@pytest.fixture
def ours(tmp_path):
    return collect([write_example(tmp_path / "a.json")])


def write(folder: Path, text: str, name: str = "theirs.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("latin-1"))
    return path


def test_they_join_by_the_same_columns_under_the_name_of_their_file(tmp_path, ours):
    path = write(tmp_path, f"{HEADER},stderr,n\nQwen/Qwen2.5-14B,sst2,direct,acc,0.9644,,872\n")
    scores = merge([ours], [path], METRICS)
    theirs = scores[scores.study == "theirs"].iloc[0]
    assert (theirs["model"], theirs["value"], theirs["n"]) == ("Qwen/Qwen2.5-14B", 0.9644, 872)
    assert theirs["variant"] == ""
    assert pd.isna(theirs["stderr"])
    assert scores.study.tolist() == ["harmony", "theirs"]
    write_csv(scores, tmp_path / "scores.csv")
    assert pd.read_csv(tmp_path / "scores.csv")["value"].tolist() == scores["value"].tolist()


def test_percent_is_said_and_then_turned_into_fractions_and_a_bare_metric_gets_its_filter(tmp_path):
    path = write(
        tmp_path,
        f"{HEADER},unit,stderr\n"
        "a/b,gsm8k,direct,exact_match,81.88,percent,1.5\n"
        'a/b,nq_open,direct,"exact_match,remove_whitespace",0.3,,0.01\n'
        "a/b,cola,direct,mcc,-0.25,fraction,\n",
    )
    scores = merge([], [path], METRICS).set_index("task")
    assert scores.loc["gsm8k", "value"] == pytest.approx(0.8188)
    assert scores.loc["gsm8k", "stderr"] == pytest.approx(0.015)
    assert scores.loc["gsm8k", "metric"] == METRICS["gsm8k"]
    assert scores["value"].tolist() == pytest.approx([-0.25, 0.8188, 0.3])


def test_an_error_of_zero_becomes_that_of_the_items_which_the_file_or_the_task_tells(tmp_path):
    path = write(
        tmp_path,
        f"{HEADER},stderr,n\n"
        "a/b,sst2,direct,acc,1.0,0.0,200\n"
        "a/b,rte,direct,acc,0.0,0.0,\n"
        "c/d,rte,direct,acc,0.5,0.05,\n"
        "a/b,cola,direct,mcc,0.0,0.0,\n"
        "c/d,cola,direct,mcc,0.0,0.0,400\n"
        "a/b,mnli,direct,acc,0.0,0.0,\n"
        "a/b,my_text,direct,bits_per_byte,0.0,0.0,10\n",
    )
    found = merge([], [path], METRICS).set_index(["task", "model"])["stderr"]
    assert found["sst2", "a/b"] == pytest.approx(share_error(1.0, 200))
    assert found["rte", "a/b"] == pytest.approx(share_error(0.0, 100)), "as the other score says"
    assert found["cola"].tolist() == pytest.approx([0.05, 0.05], rel=0.02)
    assert pd.isna(found["mnli", "a/b"]), "how many items there were is not known"
    assert found["my_text", "a/b"] == 0, "of what is no share nothing is known better"


def test_all_published_scores_are_imported_as_they_are_bits_per_byte_of_texts_included():
    scores = merge([], [CELLS], METRICS)
    assert (scores["metric"] != "bits_per_byte").sum() == 61 * 24 * 2
    of_texts = scores[scores["metric"] == "bits_per_byte"]
    assert of_texts.groupby(["task", "protocol"]).size().tolist() == [53] * 6
    assert of_texts["stderr"].isna().all()


def test_a_text_is_no_task_but_a_mistyped_task_stays_one(tmp_path):
    path = write(
        tmp_path, f"{HEADER}\na/b,my_text,direct,bits_per_byte,1.5\na/b,mnlli,direct,acc,1\n"
    )
    with pytest.raises(UserError) as refused:
        merge([], [path], METRICS)
    assert len(refused.value.problems) == 1
    assert "line 3: task is 'mnlli'" in str(refused.value)


def test_the_published_leaderboard_is_imported_as_it_is():
    scores = merge([], [LEADERBOARD], METRICS)
    assert len(scores) == 61 * 24
    assert set(scores["study"]) == {"harmony_leaderboard"}
    assert set(scores["protocol"]) == {"train_before_test"}
    cell = scores[(scores.model == "Qwen/Qwen2.5-14B") & (scores.task == "gsm8k")].iloc[0]
    assert cell["value"] == pytest.approx(0.8188)
    assert (cell["n"], cell["metric"]) == (1319, "exact_match,flexible-extract")


def test_a_broken_leaderboard_names_its_line(tmp_path):
    lines = LEADERBOARD.read_text().splitlines()
    lines[2] = lines[2].replace("90.61", "906.1")
    path = write(tmp_path, "\n".join(lines))
    with pytest.raises(
        UserError, match=r"line 3: value is 906\.1; expected a number from 0 to 100"
    ):
        merge([], [path], METRICS)


def test_a_file_may_not_be_named_like_a_study_of_ours_or_like_another_file(tmp_path, ours):
    row = f"{HEADER}\na/b,sst2,direct,acc,1\n"
    with pytest.raises(UserError, match="its name is that of our study 'harmony'"):
        merge([ours], [write(tmp_path, row, "harmony.csv")], METRICS)
    (tmp_path / "other").mkdir()
    twice = [write(tmp_path, row), write(tmp_path / "other", row)]
    with pytest.raises(
        UserError, match=r"its name is that of .*theirs\.csv; expected files of diff"
    ):
        merge([ours], twice, METRICS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model,task,protocol,metric\na/b,sst2,direct,acc\n", ["'value' is missing"]),
        (f"{HEADER},stder\na/b,sst2,direct,acc,1,0\n", ["'stder'", "Did you mean 'stderr'?"]),
        (f"{HEADER},study\na/b,sst2,direct,acc,1,mmlu\n", ["scores of mmlu; expected some of"]),
        ("study,score\nharmony,1\n", ["'score' is unknown", "'model' is missing"]),
        (f"{HEADER}\na/b,sst2,direct,acc,high\n", ["line 2", "'high'"]),
        (f"{HEADER}\na/b,sst2,direct,acc,inf\n", ["line 2", "'inf'"]),
        (f"{HEADER}\na/b,,direct,acc,1\n", ["line 2", "'task' is empty"]),
        (f"{HEADER}\na/b,sst22,direct,acc,1\n", ["task is 'sst22'", "Did you mean 'sst2'?"]),
        (f"{HEADER}\na/b,sst2,zero-shot,acc,1\n", ["'zero-shot'", "direct, few_shot or train"]),
        (f"{HEADER},n\na/b,sst2,direct,acc,1,2.5\n", ["whole number"]),
        (f"{HEADER},n\na/b,sst2,direct,acc,1,0\n", ["at least 1"]),
        (f"{HEADER},stderr\na/b,sst2,direct,acc,1,-3\n", ["at least 0"]),
        (f"{HEADER}\na/b,rte,direct,acc,0\na/b,sst2,direct,acc,96.4\n", ["line 3: value is 96.4", "0 to 1", "percent"]),
        (f"{HEADER}\na/b,cola,direct,mcc,-1.5\n", ["value is -1.5", "-1 to 1"]),
        (f"{HEADER},unit\na/b,sst2,direct,acc,96,%\n", ["unit is '%'", "fraction or percent"]),
        (f"{HEADER},unit\na/b,wikitext,direct,bits_per_byte,1,percent\n", ["is no fraction"]),
        (f"{HEADER}\na/b,sst2,direct,acc,1\na/b,sst2,direct,acc,0\n", ["line 3", "a second time"]),
        ("model,rank,pc1,mnly\na/b,1,2,3\n", ["'mnly' is no task", "Did you mean 'mnli'?"]),
        ("", ["theirs.csv is empty; expected a header with model, task"]),
        (f"{HEADER}\n", ["no line below its header", "a line for each score"]),
        ("model,rank,pc1,mnli\n", ["no line below its header"]),
        (f"{HEADER}\nÀ/b,sst2,direct,acc,1\n", ["cannot be read"]),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_line_and_column(tmp_path, text, words):
    path = write(tmp_path, text)
    with pytest.raises(UserError) as error:
        merge([], [path], METRICS)
    sentences = "\n".join(error.value.problems)
    assert str(path) in sentences
    for word in words:
        assert word in sentences


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    path = write(tmp_path, f"{HEADER}\na/b,sst22,direct,acc,1\na/b,sst2,dirct,acc,x\n")
    with pytest.raises(UserError) as error:
        merge([], [path], METRICS)
    assert len(error.value.problems) == 3
