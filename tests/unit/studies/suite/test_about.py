"""About and FAQ hold the numbers of the config and of the checks."""

import re
from typing import get_args

from tests.unit.settings.merged import load
from workflow_scripts.planning.memory import submitted_mb
from workflow_scripts.settings import requests
from workflow_scripts.settings.compute import Precision
from workflow_scripts.settings.requests import Request
from workflow_scripts.studies.suite.board import MODEL_TYPES, render_texts
from workflow_scripts.studies.suite.table_requests import suite_page


def render_about(**suite) -> str:
    about = render_texts(suite_page(load({"suite": suite})))["About"]
    return re.sub(r"\s+", " ", about)


def test_tasks_folders_and_licences_are_those_of_the_config():
    tasks = [{"task": "sciq", "shots": 7, "max_items": None}, {"task": "piqa", "shots": 3}]
    text = render_about(tasks=tasks, max_items=50, open_licences=["mit", "zlib"])
    assert "<td>7</td><td>acc_norm</td> <td>50</td><td>sciq, acc_norm</td>" in text
    assert "none of: mit, zlib." in text and "config/flags.yaml" in text


def test_largest_models_are_those_that_the_check_lets_in():
    text = render_about(memory_mb=23_456)
    assert "23,456 MB" in text
    found = re.findall(r"([\d,]+) million in (\w+)", text)
    assert [precision for _, precision in found] == list(get_args(Precision))
    for millions, precision in found:
        largest = int(millions.replace(",", "")) * 10**6
        assert submitted_mb(largest, precision, trains=False) <= 23_456
        assert submitted_mb(largest + 2 * 10**6, precision, trains=False) > 23_456


def test_limits_and_keys_are_those_of_the_code(monkeypatch):
    monkeypatch.setattr(requests, "BYTES_OF_A_PARAMETER", 7_654_321)
    text = render_about()
    assert "7654321 bytes" in text and "Quantised" in text, "the miniature world has no GPU"
    assert all(f"<td>{name}" in text for name in Request.model_fields)
    types = get_args(Request.model_fields["model_type"].annotation)
    assert tuple(MODEL_TYPES) == types
    assert len({icon for icon, _ in MODEL_TYPES.values()}) == len(types)
