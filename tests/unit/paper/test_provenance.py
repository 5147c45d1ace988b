"""What produced the numbers, from records, with the cells that broke named beside them."""

import pytest

from tests.records import write_example
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_json
from workflow_scripts.paper.provenance import gather


def test_a_cell_that_broke_is_named_and_the_others_are_counted(tmp_path):
    whole, broken = tmp_path / "a.json", tmp_path / "b.json"
    write_example(whole)
    about = {"record": "results/b.json", "reason": "It died.", "log": "logs/b.log"}
    write_json(broken, {"broken": about})
    found = gather([broken, whole], {"source": "miniature"})
    assert found["broken"] == [about]
    assert found["studies"] == {
        "harmony": {"items": 4, "records": 1, "tokens": 100},
    }
    assert found == gather([whole, broken], {"source": "miniature"})


def test_where_every_cell_broke_there_is_a_provenance_all_the_same(tmp_path):
    about = {"record": "results/b.json", "reason": "It died.", "log": "logs/b.log"}
    write_json(tmp_path / "b.json", {"broken": about})
    found = gather([tmp_path / "b.json"], {})
    assert (found["studies"], found["models"], found["broken"]) == ({}, {}, [about])


def test_what_is_no_record_is_named(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(UserError, match=r"a\.json"):
        gather([tmp_path / "a.json"], {})
