"""A record is read strictly, and whatever does not add up is named with its file."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.records import make_items, record_fields, write_example
from workflow_scripts.core.conditions import Condition
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_file, write_json
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import (
    Broken,
    Metric,
    read_record,
    sort_records,
    whole_record,
    write_record,
)


def problems_of(path) -> list[str]:
    with pytest.raises(UserError) as error:
        read_record(path)
    return error.value.problems


def test_a_record_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "sst2.json"
    written = write_example(path)
    assert read_record(path) == written
    table = read_items(tmp_path / "sst2.parquet")
    assert table.num_rows == written.items.n == 4
    assert table.column("gold").to_pylist() == ["0", "1", "0", "1"]
    assert dict(table.column("scores")[1].as_py()) == {"acc": 0.0}


def test_two_runs_differ_in_the_volatile_block_alone(tmp_path):
    first = write_example(tmp_path / "a" / "sst2.json", started="2026-01-01T00:00:00+00:00")
    second = write_example(tmp_path / "b" / "sst2.json", started="2027-01-01T00:00:00+00:00")
    assert first != second
    assert first.stable_bytes() == second.stable_bytes()
    assert (tmp_path / "a/sst2.parquet").read_bytes() == (tmp_path / "b/sst2.parquet").read_bytes()


def edit(path, change):
    fields = json.loads(path.read_text())
    change(fields)
    path.write_text(json.dumps(fields))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.pop("study"), ["study", "Field required"]),
        (lambda f: f["metrics"][0].pop("n"), ["metrics.0.n", "Field required"]),
        (lambda f: f["metrics"][0].update(n=3), ["'acc'", "n = 3", "4 items"]),
        (lambda f: f["metrics"][0].update(n=0), ["metrics.0.n", "greater than or equal to 1"]),
        (lambda f: f["metrics"][0].update(stderr=-0.1), ["metrics.0.stderr"]),
        (lambda f: f["metrics"][0].update(value="0.5x"), ["metrics.0.value"]),
        (lambda f: f["metrics"][0].update(value=float("nan")), ["NaN"]),
        (lambda f: f["metrics"][0].update(value=float("inf")), ["Infinity"]),
        (lambda f: f["metrics"].append(f["metrics"][0]), ["'acc'", "twice"]),
        (lambda f: f.update(metrics=[]), ["metrics"]),
        (lambda f: f.update(schema_version=1), ["schema_version"]),
        (lambda f: f["model"].update(colour="blue"), ["model.colour", "Extra inputs"]),
        (lambda f: f["protocol"].update(name="guessing"), ["protocol.name"]),
        (lambda f: f["model"].update(weights_sha256="abc"), ["model.weights_sha256"]),
        (lambda f: f["items"].update(n=5), ["has 4 items", "says 5"]),
    ],
)
def test_a_wrong_record_is_refused_with_file_and_place(tmp_path, change, words):
    path = tmp_path / "sst2.json"
    write_example(path)
    edit(path, change)
    sentences = problems_of(path)
    assert any(all(word in sentence for word in words) for sentence in sentences), sentences
    assert all("sst2" in sentence for sentence in sentences)


def test_files_that_are_missing_cut_short_or_altered_are_named(tmp_path):
    path, items = tmp_path / "sst2.json", tmp_path / "sst2.parquet"
    assert problems_of(path) == [f"{path} is missing."]

    write_example(path)
    whole = items.read_bytes()
    items.write_bytes(whole[: len(whole) // 2])
    assert str(items) in problems_of(path)[0]
    for at in (10, len(whole) // 2, len(whole) - 10):  # header, rows and footer of the Parquet file
        items.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        assert "was altered" in problems_of(path)[0]
    items.unlink()
    assert "is missing" in problems_of(path)[0]

    items.write_bytes(whole)
    text = path.read_text()
    path.write_text(text[: len(text) // 2])
    assert "is not a JSON record" in problems_of(path)[0]


def test_a_record_without_its_seal_is_refused_whatever_else_was_changed(tmp_path):
    path = tmp_path / "sst2.json"
    write_example(path)

    def unseal(fields):
        fields["volatile"]["stable_sha256"] = None
        fields["metrics"][0]["value"] = 0.99

    edit(path, unseal)
    assert "was altered" in problems_of(path)[0]


def test_items_exchanged_for_others_of_the_same_number_are_noticed(tmp_path):
    path = tmp_path / "sst2.json"
    write_example(path)
    write_example(tmp_path / "other.json", golds=("1", "1", "1", "1"))
    (tmp_path / "other.parquet").rename(tmp_path / "sst2.parquet")
    assert "altered" in problems_of(path)[0]


def test_items_with_other_columns_are_refused(tmp_path):
    path = tmp_path / "sst2.json"
    write_example(path)
    items = tmp_path / "sst2.parquet"
    pq.write_table(pa.table({"item": ["a"]}), items)
    edit(path, lambda fields: fields["items"].update(sha256=sha256_file(items)))
    assert "columns" in problems_of(path)[0]
    assert "gold" in problems_of(path)[0]


ONE, OTHER = Condition(plan="k2m1", aggregation="mean"), Condition(plan="k0m0", batch=4)


@pytest.mark.parametrize(
    ("items", "about"),
    [
        (make_items(subset="anatomy") + make_items(subset="law"), {"subset": "law"}),
        ([replace(i, condition=c) for c in (ONE, OTHER) for i in make_items()], {"condition": OTHER}),
    ],
    ids=["subset", "condition"],
)  # fmt: skip
def test_a_part_counts_its_own_items_and_comes_back(tmp_path, items, about):
    known = {"name": "acc", "value": 0.5, "stderr": None, "best_constant": None, "chance": None}
    metric = Metric(**known, **about, n=4)
    write_record(tmp_path / "mmlu.json", items, **record_fields() | {"metrics": (metric,)})
    assert read_record(tmp_path / "mmlu.json").metrics == (metric,)
    wrong = metric.model_copy(update={"n": 8})
    with pytest.raises(UserError, match="has n = 8, but there are 4 items"):
        write_record(tmp_path / "no.json", items, **record_fields() | {"metrics": (wrong,)})
    assert not list(tmp_path.glob("no.*"))


def test_a_broken_cell_is_read_as_broken_and_nothing_else(tmp_path):
    path = tmp_path / "sst2.json"
    about = {"record": str(path), "reason": "no memory", "log": "logs/x.log"}
    write_json(path, {"broken": about})
    assert read_record(path) == Broken(**about)
    with pytest.raises(UserError, match="broken cell: no memory"):
        whole_record(path)
    write_example(tmp_path / "cola.json")
    whole, broken = sort_records([path, tmp_path / "cola.json"])
    assert [one.task.name for _, one in whole] == ["sst2"]
    assert broken == [Broken(**about)]
    write_json(path, {"broken": {"reason": "no memory"}})
    missing = [f"{path}: {name}: Field required." for name in ("record", "log")]
    assert problems_of(path) == missing
