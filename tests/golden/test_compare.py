"""The comparison tells what moved, and what only has another name or place does not."""

import pytest

from tests.golden.compare import Difference, Renames, compare_folders
from tests.golden.run import (
    PARTS,
    RENAMES,
    drop_other_processors,
    extract_commit,
    find_reference_folder,
    keep_tables,
    name_processor,
)

BEFORE = "model,task,value\na,x,0.5\na,y,0.25\nb,x,1e-05\n"
KEYS = {"scores": ["model", "task"]}


def compare(tmp_path, after, renames=None, before=BEFORE, old="scores", new="scores"):
    for folder, name, text in (("before", old, before), ("after", new, after)):
        (tmp_path / folder).mkdir()
        if text is not None:
            (tmp_path / folder / f"{name}.csv").write_text(text)
    differences = compare_folders(
        tmp_path / "before", tmp_path / "after", KEYS, renames or Renames()
    )
    return [str(difference) for difference in differences]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("task,value,model\nx,0.00001,b\ny,0.2500000001,a\nx,0.5,a\n", []),
        ("model,task,value\na,x,0.5\na,y,0.250002\nb,x,1.2e-05\n", ["a, y] value: 0.25 -> 0.250002 (+2e-06)", "b, x]"]),
        ("model,task,value\na,x,\na,y,none\nb,x,1e-05\n", ["a, x] value: 0.5 -> empty", "a, y] value: 0.25 -> none"]),
        ("model,task,value\na,x,nan\na,y,0.25\nb,x,1e-05\n", ["a, x] value: 0.5 -> nan"]),
        ("model,task,value\na,x,0.5\na,z,0.25\nb,x,1e-05\n", ["a, y]: present -> absent", "a, z]: absent -> present"]),
        (BEFORE.replace("value", "score"), ["scores value: present -> absent", "scores score: absent -> present"]),
        ("model,task,value\n", ["a, x]: present -> absent", "a, y]", "b, x]"]),
        (None, ["scores: present -> absent"]),
    ],
)  # fmt: skip
def test_every_difference_is_listed(tmp_path, after, expected):
    lines = compare(tmp_path, after)
    assert len(lines) == len(expected)
    assert all(words in line for words, line in zip(expected, lines, strict=True)), lines


def test_renamed_tables_are_compared(tmp_path):
    renames = Renames(
        tables={"cells": "scores"}, columns={"*": {"name": "model"}, "scores": {"of": "task"}}
    )
    before = BEFORE.replace("model,task", "name,of")
    after = BEFORE.replace("0.25", "0.75")
    assert compare(tmp_path, after, renames, before, old="cells") == [
        "scores [a, y] value: 0.25 -> 0.75 (+0.5)"
    ]


def test_duplicate_key(tmp_path):
    with pytest.raises(ValueError, match="two rows"):
        compare(tmp_path, BEFORE + "a,x,0.5\n")


def test_restore_config():
    renames = Renames(keys={"grid.test_draw": "grid.draws", "exam": "mmlu", "a.b": "c.d"})
    config = {"grid": {"draws": "own", "tasks": ["x"]}, "mmlu": {"shots": 5}, "c": {"d": 0, "e": 1}}
    restored = renames.restore_config(config)
    assert restored == {
        "grid": {"test_draw": "own", "tasks": ["x"]},
        "exam": {"shots": 5},
        "a": {"b": 0},
        "c": {"e": 1},
    }
    assert config["grid"] == {"draws": "own", "tasks": ["x"]}
    assert Renames().restore_config(config) == config


def test_intended_difference_is_table_or_column():
    renames = Renames(moved={"scores.value": "drawn as published", "plans": "adapters"})
    verdicts = [
        Difference(table, "[a]", column, "1", "2").is_intended(renames.moved)
        for table, column in (("scores", "value"), ("scores", "n"), ("plans", "k"), ("score", ""))
    ]
    assert verdicts == [True, False, True, False]


def test_keep_tables_rounds(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.golden.run.HERE", tmp_path)
    (tmp_path / "after").mkdir()
    text = 'model,task,value\nPythia-0.1M,"x, y",0.12345678901234\nb,1.4.2,14770033664\n'
    (tmp_path / "after/scores.csv").write_text(text)
    folder = keep_tables("published", tmp_path / "after")
    assert (folder / "scores.csv").read_text() == text.replace("0.12345678901234", "0.123456789")
    assert compare_folders(folder, tmp_path / "after", KEYS, Renames()) == []


def test_drop_other_processors(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.golden.run.HERE", tmp_path)
    own = find_reference_folder("measured").name
    for path in (f"{own}/scores.csv", "amd-99-9/scores.csv", "published/published_bits.csv"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).touch()
    assert drop_other_processors() == ["amd-99-9"]
    assert {path.name for path in tmp_path.iterdir()} == {own, "published"}


@pytest.mark.parametrize(
    ("cpuinfo", "name"),
    [
        ("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R)\n", "intel-6-143"),
        ("vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n", "amd-25-1"),
    ],
)  # fmt: skip
def test_processor_has_name(cpuinfo, name):
    assert name_processor(cpuinfo * 2) == name


def test_unknown_base_commit_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^nothing is no commit of this clone; expected"):
        extract_commit("nothing", tmp_path)


def test_renames_name_compared_tables():
    tables = {table for part in PARTS.values() for table in part}
    named = {
        *RENAMES.tables.values(),
        *RENAMES.columns,
        *(key.split(".")[0] for key in RENAMES.moved),
    }
    assert named - {"*"} <= tables
