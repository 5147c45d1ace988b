"""The About and FAQ tabs hold the numbers of the config and of the checks, whatever these are."""

import random
import re
from typing import get_args

import pytest
import yaml
from workflow_scripts.studies.suite.about import MODEL_TYPES, describe_suite

from tests.unit.settings.merged import ROOT, load
from workflow_scripts.planning.memory import submitted_mb
from workflow_scripts.settings.compute import Precision
from workflow_scripts.settings.requests import Request
from workflow_scripts.studies.suite import about
from workflow_scripts.studies.suite.table_requests import suite_about


def sections(config: dict, **changes) -> dict:
    """All sections by their title, numbers in it left out."""
    texts = describe_suite(suite_about(load(config)).model_copy(update=changes))
    assert [one.id for one in texts] == ["about", "faq"]
    return {re.sub(r" \(.*\)", "", one.title): one for text in texts for one in text.sections}


def refusals(config: dict, **changes) -> dict[str, str]:
    return dict(sections(config, **changes)["What is refused"].table[1:])


def test_the_default_tasks_are_those_of_the_config_file():
    suite = yaml.safe_load((ROOT / "config/config.yaml").read_text())["suite"]
    found = sections({})["Tasks, shots and metrics"]
    assert found.title.endswith(f"({len(suite['tasks'])})")
    expected = [
        [
            str(task["shots"]),
            task.get("shown_as") or task["metric"],
            str(task.get("max_items") or suite["max_items"]),
            f"{task['task']}, {task['metric']}",
        ]
        for task in suite["tasks"]
    ]
    assert [line[1:] for line in found.table[1:]] == expected


def test_other_tasks_shots_and_items_are_written_as_configured():
    draw = random.Random()
    tasks = [
        {"task": name, "shots": draw.randrange(30), "max_items": draw.choice([None, 3, 1_500])}
        for name in draw.sample(["sciq", "piqa", "boolq"], 2)
    ]
    found = sections({"suite": {"tasks": tasks, "max_items": None}})["Tasks, shots and metrics"]
    assert "(2)" in found.title and "group" not in found.paragraphs[0]
    counts = {None: "all", 3: "3", 1_500: "1,500"}
    for task, line in zip(tasks, found.table[1:], strict=True):
        assert (line[1], line[3]) == (str(task["shots"]), counts[task["max_items"]])
        assert line[4].startswith(f"{task['task']}, ")


def test_the_largest_models_are_those_that_the_check_lets_in():
    memory = random.randrange(3_100, 200_000)
    said = refusals({"suite": {"memory_mb": memory}})["Memory"]
    assert f"{memory:,} MB" in said
    found = re.findall(r"([\d,]+) million in (\w+)", said)
    assert [precision for _, precision in found] == list(get_args(Precision))
    for millions, precision in found:
        largest = int(millions.replace(",", "")) * 10**6
        assert submitted_mb(largest, precision, trains=False) <= memory
        assert submitted_mb(largest + 2 * 10**6, precision, trains=False) > memory


@pytest.mark.parametrize(
    ("limit", "row"),
    [
        *(("LARGEST_REQUEST", "Request"), ("MOST_PARTS", "Size"), ("BYTES_OF_A_PARAMETER", "Size")),
        *(("MOST_SMALL_FILES", "Size"), ("SECONDS", "Time"), ("MEGABYTES", "Time")),
    ],
)
def test_a_changed_limit_of_the_checks_changes_the_text(monkeypatch, limit, row):
    monkeypatch.setattr(about, limit, 7_654_321)
    assert "7,654,321" in refusals({})[row].replace("7654321", "7,654,321")


def test_the_reasons_are_counted_and_follow_the_config():
    found = sections({"suite": {"open_licences": ["mit", "zlib"]}})["What is refused"]
    assert f"({len(found.table) - 1} reasons)" in found.title
    assert dict(found.table)["Licence"].endswith(" mit, zlib.")
    assert "Quantised" in refusals({}), "the miniature world asks for no GPU"
    assert "Quantised" not in refusals({}, on_gpu=True)


def test_every_model_type_has_an_icon_of_its_own():
    types = get_args(Request.model_fields["model_type"].annotation)
    assert tuple(MODEL_TYPES) == types
    assert len({icon for icon, _ in MODEL_TYPES.values()}) == len(types)


def test_every_key_of_a_request_is_explained_with_its_values():
    lines = {line[0]: line[1] for line in sections({})["How to submit a model"].table[1:]}
    required = {name for name, field in Request.model_fields.items() if field.is_required()}
    assert {name.removesuffix(" (required)") for name in lines} == set(Request.model_fields)
    assert {name.split()[0] for name in lines if name.endswith(" (required)")} == required
    assert lines["precision (required)"].endswith(f"One of: {', '.join(get_args(Precision))}.")


def test_folders_are_those_of_the_config():
    found = sections({"suite": {"requests": "config/requests/paper"}})
    assert "config/requests/paper" in found["How to submit a model"].paragraphs[0]
    assert "config/flags.yaml" in found["Flags"].paragraphs[0]
