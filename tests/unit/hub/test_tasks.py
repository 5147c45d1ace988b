"""Training text is, to the letter, one of the requests that the evaluator makes."""

from pathlib import Path

import pytest

from tests.workflow.snakemake import ROOT
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import (
    _definitions,
    load_tasks,
    prompt_and_completion,
    runs_generated_code,
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
            prompt, completion = prompt_and_completion(task, doc)
            requests = [one.args for one in task.instances if one.doc == doc]
            if name in GENERATION:
                description = task.config.description or ""
                assert description + prompt == requests[0][0]
                continue
            assert (prompt, completion) in requests
            chosen = requests.index((prompt, completion))
            scored = [(0.0, True) if at == chosen else (-1e9, False) for at in range(len(requests))]
            metrics = task.process_results(doc, scored)
            assert metrics.get("acc", 1.0) == 1.0, "the completion is the right answer"


def test_runs_generated_code():
    """All tasks that lm-eval marks are found, as it reads them itself, and none of the table is among them."""
    import lm_eval
    from lm_eval.tasks._yaml_loader import load_yaml

    folders = {
        path.parent
        for path in Path(lm_eval.__file__).parent.glob("tasks/*/*")
        if path.is_file() and b"unsafe_code" in path.read_bytes()
    }
    marked = [
        name
        for name, files in _definitions().items()
        for file in files
        if file.parent in folders and load_yaml(file, resolve_func=False).get("unsafe_code")
    ]
    assert len(marked) >= 10 and all(map(runs_generated_code, marked))
    assert not [row.task for row in ROWS if runs_generated_code(row.harness_task)]
