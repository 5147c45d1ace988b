"""Test that records are read strictly, and that every error names the file."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.records import make_items, record_fields, write_example
from tests.tables import load_table
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import hash_file, write_json
from workflow_scripts.core.items import read_items
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.records import (
    FailedRecord,
    read_complete_record,
    read_record,
    read_records,
    write_record,
)


def read_problems(path) -> list[str]:
    with pytest.raises(UserError) as error:
        read_record(path)
    assert all(path.stem in problem for problem in error.value.problems)
    return error.value.problems


def test_write_record(tmp_path):
    first = write_example(tmp_path / "a" / "sst2.json", started="2026-01-01T00:00:00+00:00")
    second = write_example(tmp_path / "b" / "sst2.json", started="2027-01-01T00:00:00+00:00")
    assert read_record(tmp_path / "a" / "sst2.json") == first != second
    assert first.serialize_stable() == second.serialize_stable()
    items = tmp_path / "a/sst2.parquet"
    assert items.read_bytes() == (tmp_path / "b/sst2.parquet").read_bytes()
    table = read_items(items)
    assert table.column("gold").to_pylist() == ["0", "1", "0", "1"]
    assert dict(table.column("scores")[1].as_py()) == {"acc": 0.0}


def edit_field(path, key, value):
    """Change a value of a record; `key` is its path, separated by dots."""
    fields = json.loads(path.read_text())
    *parents, last = key.split(".")
    part = fields
    for name in parents:
        part = part[int(name) if isinstance(part, list) else name]
    part[last] = value
    path.write_text(json.dumps(fields))


@pytest.mark.parametrize(("key", "value", "words"), load_table(__file__, "wrong_fields.txt"))
def test_read_record_wrong_field(tmp_path, key, value, words):
    path = tmp_path / "sst2.json"
    write_example(path)
    edit_field(path, key, yaml.safe_load(value))
    assert any(words in problem for problem in read_problems(path))


def test_read_record_damaged_files(tmp_path):
    path, items = tmp_path / "sst2.json", tmp_path / "sst2.parquet"
    assert read_problems(path) == [f"{path} is missing."]
    write_example(path)
    whole = items.read_bytes()
    for position in (10, len(whole) // 2, len(whole) - 10):  # header, rows and footer
        flipped = bytearray(whole)
        flipped[position] ^= 0xFF
        items.write_bytes(flipped)
        assert "was altered" in read_problems(path)[0]
    pq.write_table(pa.table({"item": ["a"]}), items)
    edit_field(path, "items.sha256", hash_file(items))
    assert "was altered" in read_problems(path)[0]
    items.unlink()
    assert "is missing" in read_problems(path)[0]
    path.write_text(path.read_text()[:100])
    assert "is not a JSON record" in read_problems(path)[0]


CONDITIONS = Condition(plan="k2m1", aggregation="mean"), Condition(plan="k0m0", batch=4)
BY_CONDITION = [replace(item, condition=part) for part in CONDITIONS for item in make_items()]


@pytest.mark.parametrize(
    ("items", "part"),
    [
        (make_items("anatomy") + make_items("law"), {"subset": "law"}),
        (BY_CONDITION, {"condition": CONDITIONS[1]}),
    ],
    ids=["subset", "condition"],
)
def test_part_metric(tmp_path, items, part):
    """A record has each metric of a part of its items once, with the number of these items."""
    fields = record_fields()
    path, metric = tmp_path / "mmlu.json", fields["metrics"][0].model_copy(update=part)
    write_record(path, items, **fields | {"metrics": (metric,)})
    assert read_record(path).metrics == (metric,)
    wrong = metric.model_copy(update={"n": 8})
    for metrics, words in [((metric, metric), "listed twice"), ((wrong,), "but there are 4 items")]:
        with pytest.raises((ValueError, UserError), match=words):
            write_record(path, items, **fields | {"metrics": metrics})


def test_read_record_broken(tmp_path):
    path = tmp_path / "sst2.json"
    fields = {"record": str(path), "reason": "no memory", "log": "logs/x.log"}
    write_json(path, {"broken": fields})
    with pytest.raises(UserError, match="failed cell: no memory"):
        read_complete_record(path)
    record = write_example(tmp_path / "cola.json")
    records = read_records([path, tmp_path / "cola.json"])
    assert records == [(tmp_path / "cola.json", record)]
    (tmp_path / "rte.json").write_text("{")
    with pytest.raises(UserError, match=r"(?s)rte\.json.*mnli\.json is missing"):
        read_records([tmp_path / "rte.json", tmp_path / "mnli.json"])
    assert read_record(path) == FailedRecord(**fields)
