"""What produced the numbers, from records, with the cells that failed named beside them."""

import pytest

from tests.records import write_example
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_json
from workflow_scripts.paper.provenance import gather


def test_failed_cells_are_named_and_the_others_counted(tmp_path):
    paths = [tmp_path / name for name in ("a.json", "b.json")]
    about = {"record": "results/b.json", "reason": "It died.", "log": "logs/b.log"}
    write_json(paths[1], {"broken": about})
    assert gather(paths[1:], {})["studies"] == {}
    write_example(paths[0])
    found = gather(paths, {"source": "miniature"})
    assert found["broken"] == [about]
    assert found["studies"] == {"harmony": {"items": 4, "records": 1, "tokens": 100}}
    assert found == gather(paths[::-1], {"source": "miniature"})
    paths[0].write_text("{}")
    with pytest.raises(UserError, match=r"a\.json"):
        gather(paths, {})
