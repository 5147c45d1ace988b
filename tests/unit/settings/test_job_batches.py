"""Test splitting tasks into job batches: names of rules and files, and no missing task."""

import pytest

from tests.unit.settings.merged import load
from workflow_scripts.settings.job_batches import list_batches, list_cell_records
from workflow_scripts.studies.records import list_records

MODEL = "miniature/Llama-1.4M"
TASKS = ["sst2", "truthfulqa_mc2", "rte", "mnli"]


@pytest.mark.parametrize(("tasks_per_job", "suffixes"), [(4, [""]), (3, ["_1", "_2"])])
def test_batches(tasks_per_job, suffixes):
    """Batches cover the tasks of the config; a task without a training split has only the direct protocol."""
    protocols = ["train_before_test", "direct"]
    harmony = {"models": [MODEL], "tasks": TASKS, "seeds": [3, 5], "protocols": protocols}
    settings = load({"harmony": harmony, "cluster": {"tasks_per_job": tasks_per_job}})
    batches = list_batches(settings)
    direct = [batch for batch in batches if batch.base_rule == "evaluate_direct"]
    assert [batch.suffix for batch in direct] == suffixes
    assert [task for batch in direct for task in batch.tasks] == TASKS
    records = list_records(settings)["harmony"]
    assert len(set(records)) == 4 + 2 * 3
    folder = "results/records/harmony/train_before_test/miniature--Llama-1.4M"
    assert f"{folder}/mnli.seed-5.json" in records
    outputs = {
        path.replace("{checkpoint}", "miniature--Llama-1.4M")
        for batch in batches
        for path in list_cell_records(
            settings, batch.study, batch.protocol, batch.wildcard, batch.tasks
        )
    }
    assert outputs >= {*records, *list_cell_records(settings, "suite", "few_shot", "{row}")}
