"""From records and other people's CSV files to tidy scores."""

import pandas as pd
import pytest

from tests.records import write_example
from workflow_scripts.core.errors import UserError
from workflow_scripts.reporting.scores import COLUMNS, collect, merge, write_csv, write_parquet


def test_each_metric_becomes_a_row_with_its_floor(tmp_path):
    write_example(tmp_path / "a.json", model="miniature/Llama-1.4M", value=0.75)
    write_example(tmp_path / "b.json", model="org/net@k2m12+cpt+sft", value=0.25, seed=3)
    scores = collect([tmp_path / "b.json", tmp_path / "a.json"])
    assert list(scores.columns) == list(COLUMNS)
    first, second = scores.to_dict("records")
    assert (first["model"], first["variant"], first["value"]) == ("miniature/Llama-1.4M", "", 0.75)
    assert (second["model"], second["variant"]) == ("org/net", "@k2m12+cpt+sft")
    assert (second["seed"], second["n"], second["protocol"]) == (3, 4, "direct")
    assert first["floor"] == 0.5, "chance 0.5 is above the best constant's 0.45"


def test_the_order_of_the_records_changes_nothing(tmp_path):
    paths = [tmp_path / f"{name}.json" for name in "abc"]
    for path in paths:
        write_example(path, model=f"org/{path.stem}")
    for at, order in enumerate((paths, paths[::-1])):
        write_parquet(collect(order), tmp_path / f"{at}.parquet")
    assert (tmp_path / "0.parquet").read_bytes() == (tmp_path / "1.parquet").read_bytes()


def test_all_broken_records_are_named_at_once(tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(UserError) as error:
        collect([tmp_path / "a.json", tmp_path / "b.json"])
    assert len(error.value.problems) == 2
    assert "a.json" in error.value.problems[0]
    assert "b.json is missing" in error.value.problems[1]


def external(tmp_path, text):
    path = tmp_path / "theirs.csv"
    path.write_bytes(text.encode("latin-1"))
    return path


def test_other_peoples_scores_join_by_the_same_columns(tmp_path):
    write_example(tmp_path / "a.json")
    path = external(
        tmp_path,
        "model,task,protocol,metric,value,stderr,n\nQwen/Qwen2.5-14B,sst2,direct,acc,0.9644,,872\n",
    )
    scores = merge([collect([tmp_path / "a.json"])], [path])
    theirs = scores[scores.study == "external"].iloc[0]
    assert (theirs["model"], theirs["value"], theirs["n"]) == ("Qwen/Qwen2.5-14B", 0.9644, 872)
    assert pd.isna(theirs["stderr"])
    write_csv(scores, tmp_path / "scores.csv")
    assert pd.read_csv(tmp_path / "scores.csv")["value"].tolist() == scores["value"].tolist()


def test_foreign_scores_do_not_pass_for_ours_and_empty_cells_get_their_defaults(tmp_path):
    write_example(tmp_path / "a.json")
    ours = collect([tmp_path / "a.json"])
    header = "study,model,variant,task,protocol,metric,value\n"
    path = external(tmp_path, header + "harmony,a/b,,x,direct,acc,1\n")
    with pytest.raises(UserError, match="'harmony' is one of ours"):
        merge([ours], [path])
    path = external(tmp_path, header + ",a/b,,x,direct,acc,1\n")
    theirs = merge([ours], [path]).iloc[0]
    assert (theirs["study"], theirs["variant"]) == ("external", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model,task,protocol,metric\na/b,x,direct,acc\n", ["'value' is missing"]),
        (
            "model,task,protocol,metric,value,stder\na/b,x,direct,acc,1,0\n",
            ["'stder'", "Did you mean 'stderr'?"],
        ),
        ("model,task,protocol,metric,value\na/b,x,direct,acc,high\n", ["line 2", "'high'"]),
        ("model,task,protocol,metric,value\na/b,x,direct,acc,inf\n", ["line 2", "'inf'"]),
        ("model,task,protocol,metric,value\na/b,,direct,acc,1\n", ["line 2", "'task' is empty"]),
        ("model,task,protocol,metric,value,n\na/b,x,direct,acc,1,2.5\n", ["whole number"]),
        ("model,task,protocol,metric,value,n\na/b,x,direct,acc,1,0\n", ["at least 1"]),
        ("model,task,protocol,metric,value,stderr\na/b,x,direct,acc,1,-3\n", ["at least 0"]),
        ("", ["cannot be read"]),
        ("model,task,protocol,metric,value\nÀ/b,x,direct,acc,1\n", ["cannot be read"]),
    ],
)
def test_a_wrong_file_is_refused_with_line_and_column(tmp_path, text, words):
    path = external(tmp_path, text)
    with pytest.raises(UserError) as error:
        merge([], [path])
    sentences = "\n".join(error.value.problems)
    assert str(path) in sentences
    for word in words:
        assert word in sentences
