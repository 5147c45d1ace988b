"""Run lm-eval's own tasks on one loaded model."""

import os
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.evaluation.item_sampling import draw_items
from workflow_scripts.evaluation.score_cache import ScoreCache
from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.tasks import load_tasks
from workflow_scripts.settings.harmony import Draws

# lm-eval's default seed for sampling few-shot examples, unless a task fixes the examples.
FEWSHOT_SEED = 1234
BOOTSTRAP_DRAWS = 1000


def prepare_tasks(request: CellsRequest) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """Load the task of a cell, or the members of a group, and sample the items of each."""
    task = request.task
    tasks = load_tasks([task.harness_task])
    for member in tasks.values():
        if member.get_config("num_fewshot") != 0:  # a task that sets 0 itself stays zero-shot
            member.set_config("num_fewshot", task.shots)
        member.set_fewshot_seed(FEWSHOT_SEED)
    available = {name: len(member.eval_docs) for name, member in tasks.items()}
    groups = {task.harness_task: available}
    if request.max_items_per_member:  # so that every member is part of the mean over members
        groups = {name: {name: number} for name, number in available.items()}
    drawn: dict[str, list[int]] = {}
    for name, members in groups.items():
        drawn |= sample_items(members, task.max_test_items, request.seed, name, request.draws)
    return {name: tasks[name] for name in drawn}, drawn


def build_language_model(
    loaded: LoadedModel, request: CellsRequest, scored_items: ScoreCache | None = None
):
    """Build the lm-eval model of a loaded model, run by the prefix engine or by its server."""
    from workflow_scripts.evaluation.build_engine import build_engine
    from workflow_scripts.evaluation.prefix_lm import PrefixLM

    return PrefixLM(
        pretrained=loaded.model,
        tokenizer=loaded.tokenizer,
        engine=build_engine(loaded, scored_items),
        batch_size=request.compute.batch_size,
        seed=request.seed,
    )


def ask(
    lm, tasks: dict[str, Any], drawn: dict[str, list[int]], *, chat_template: bool = False
) -> dict[str, Any]:
    """Return lm-eval's results and samples for the given tasks and item indices."""
    # lm-eval's bootstrap would fork a process per CPU, with the GPU memory, for a single chunk of work.
    os.environ["DISABLE_MULTIPROC"] = "1"
    import lm_eval

    return lm_eval.evaluate(
        lm=lm,
        task_dict={"tasks": tasks},
        samples=drawn,
        bootstrap_iters=BOOTSTRAP_DRAWS,
        log_samples=True,
        apply_chat_template=chat_template,
        confirm_run_unsafe_code=os.environ.get("HF_ALLOW_CODE_EVAL") == "1",
    )


def sample_items(
    available: dict[str, int], cap: int | None, seed: int, task: str, draws: Draws = "own"
) -> dict[str, list[int]]:
    """Select all items of a task and its members, or a seeded sample of `cap` items, in dataset order."""
    items = [(name, index) for name, count in available.items() for index in range(count)]
    if not items:
        raise UserError(f"The task {task!r} has no items to evaluate.")
    drawn: dict[str, list[int]] = {}
    for number in sorted(draw_items(len(items), cap, draws, seed, "items", task)):
        name, index = items[number]
        drawn.setdefault(name, []).append(index)
    return drawn
