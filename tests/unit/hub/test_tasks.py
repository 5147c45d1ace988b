"""Test that a training text is exactly one of the evaluator's requests."""

import pytest

from tests.workflow.snakemake import ROOT
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import (
    build_prompt_and_completion,
    load_tasks,
)
from workflow_scripts.settings.tables import TaskRow, read_table

ROWS = read_table(TaskRow, ROOT / "config/tasks.tsv").values()
MULTIPLE_CHOICE = [
    row.task
    for row in ROWS
    if row.metric in ("acc", "acc_norm", "mcc") and row.task not in ("mmlu", "truthfulqa_mc2")
]
GENERATION = ["nq_open", "gsm8k"]


@pytest.mark.parametrize("name", [*MULTIPLE_CHOICE, *GENERATION])
def test_prompt_and_completion(world, name):
    with mirror(world):
        (task,) = load_tasks([name]).values()
        task.set_config("num_fewshot", 0)
        task.build_all_requests(limit=5, rank=0, world_size=1)
        for doc in list(task.eval_docs)[:5]:
            prompt, completion = build_prompt_and_completion(task, doc)
            requests = [instance.args for instance in task.instances if instance.doc == doc]
            if name in GENERATION:
                description = task.config.description or ""
                assert description + prompt == requests[0][0]
                continue
            assert (prompt, completion) in requests
            chosen = requests.index((prompt, completion))
            scored = [
                (0.0, True) if index == chosen else (-1e9, False) for index in range(len(requests))
            ]
            metrics = task.process_results(doc, scored)
            assert metrics.get("acc", 1.0) == 1.0, "the completion is the right answer"
