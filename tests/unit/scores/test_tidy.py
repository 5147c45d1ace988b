"""From records to tidy scores."""

import pytest

from tests.records import write_example
from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.columns import COLUMNS
from workflow_scripts.scores.tidy import collect, collect_scores, read_records


def test_each_metric_becomes_a_row_with_its_floor(tmp_path):
    write_example(tmp_path / "a.json", model="miniature/Llama-1.4M", value=0.75)
    write_example(tmp_path / "b.json", model="org/net@k2m12+cpt+sft", value=0.25, seed=3)
    records = read_records([tmp_path / "b.json", tmp_path / "a.json"])
    scores = collect(record for _, record in records)
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
        outputs = {name: tmp_path / f"{name}_{at}" for name in ("scores", "errors")}
        collect_scores({"records": order}, {}, outputs)
    for name in ("scores", "errors"):
        assert (tmp_path / f"{name}_0").read_bytes() == (tmp_path / f"{name}_1").read_bytes()


def test_all_broken_records_are_named_at_once(tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(UserError) as error:
        read_records([tmp_path / "a.json", tmp_path / "b.json"])
    assert len(error.value.problems) == 2
    assert "a.json" in error.value.problems[0]
    assert "b.json is missing" in error.value.problems[1]
