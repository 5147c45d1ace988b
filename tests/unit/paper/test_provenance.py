"""Test the provenance of the numbers, collected from records, with the names of failed cells."""

from tests.records import write_example
from workflow_scripts.core.files import write_json
from workflow_scripts.paper.provenance import collect_provenance


def test_provenance_names_failed_cells(tmp_path):
    paths = [tmp_path / name for name in ("a.json", "b.json")]
    failure = {"record": "results/b.json", "reason": "It died.", "log": "logs/b.log"}
    write_json(paths[1], {"broken": failure})
    assert collect_provenance(paths[1:], {})["studies"] == {}
    write_example(paths[0])
    provenance = collect_provenance(paths, {"source": "miniature"})
    assert provenance["broken"] == [failure]
    assert provenance["studies"] == {"harmony": {"items": 4, "records": 1, "tokens": 100}}
    assert provenance == collect_provenance(paths[::-1], {"source": "miniature"})
