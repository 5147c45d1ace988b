"""Test splitting tasks into job batches: names of rules and files, and no missing task."""

import pytest

from tests.unit.settings.merged import load
from workflow_scripts.settings.job_batches import list_harmony_records, packs, suite_records

TASKS = ["sst2", "truthfulqa_mc2", "rte", "mnli"]


@pytest.mark.parametrize(("tasks_per_job", "numbers"), [(4, [""]), (3, ["_1", "_2"])])
def test_packs(tasks_per_job, numbers):
    """Batches cover the tasks of the config; a task without a training split has only the direct protocol."""
    harmony = {"tasks": TASKS, "seeds": [3, 5], "protocols": ["train_before_test", "direct"]}
    settings = load({"harmony": harmony, "cluster": {"tasks_per_job": tasks_per_job}})
    batches = packs(settings)
    direct = [batch for batch in batches if batch.base == "evaluate_direct"]
    assert [batch.rule for batch in direct] == [f"evaluate_direct{number}" for number in numbers]
    assert [task for batch in direct for task in batch.tasks] == TASKS
    records = list_harmony_records(settings, ["a--b"])
    assert len(set(records)) == 4 + 2 * 3
    assert "results/records/harmony/train_before_test/a--b/mnli.seed-5.json" in records
    paths = [path for batch in batches for path in batch.records()]
    outputs = {path.format(checkpoint="a--b", row="r") for path in paths}
    assert outputs >= {*records, *suite_records(settings, "few_shot", "r").values()}
