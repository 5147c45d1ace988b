"""Run lm-eval's tasks on one loaded model."""

import os
from collections import defaultdict
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.evaluation.item_sampling import draw_items
from workflow_scripts.evaluation.score_cache import ScoreCache
from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.tasks import load_tasks
from workflow_scripts.settings.harmony import Draws

# lm-eval's default seed for sampling few-shot examples, unless a task fixes the examples.
_FEWSHOT_SEED = 1234
_BOOTSTRAP_ITERATIONS = 1000


def prepare_tasks(request: CellsRequest) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """Load the task of a cell, or the members of a group; return them by name, and their sampled item indices."""
    task = request.task
    tasks = load_tasks([task.harness_task])
    for member in tasks.values():
        if member.get_config("num_fewshot") != 0:  # a task that sets 0 itself stays zero-shot
            member.set_config("num_fewshot", task.shots)
        member.set_fewshot_seed(_FEWSHOT_SEED)
    counts = {name: len(member.eval_docs) for name, member in tasks.items()}
    groups = {task.harness_task: counts}
    if request.max_items_per_member:  # so that every member is part of the mean over members
        groups = {name: {name: count} for name, count in counts.items()}
    indices: dict[str, list[int]] = {}
    for name, members in groups.items():
        indices |= sample_items(members, task.max_test_items, request.seed, name, request.draws)
    return {name: tasks[name] for name in indices}, indices


def build_language_model(
    loaded: LoadedModel, request: CellsRequest, score_cache: ScoreCache | None = None
):
    """Build the lm-eval model of a loaded model, run by the prefix engine or by its server."""
    from workflow_scripts.evaluation.build_engine import build_engine
    from workflow_scripts.evaluation.prefix_lm import PrefixLM

    return PrefixLM(
        pretrained=loaded.model,
        tokenizer=loaded.tokenizer,
        engine=build_engine(loaded, score_cache),
        batch_size=request.compute.batch_size,
        seed=request.seed,
    )


def run_lm_eval(
    lm, tasks: dict[str, Any], indices: dict[str, list[int]], *, chat_template: bool
) -> dict[str, Any]:
    """Evaluate the items of each task with these indices; return lm-eval's results and samples."""
    # lm-eval's bootstrap would fork a process per CPU, with the GPU memory, for a single chunk of work.
    os.environ["DISABLE_MULTIPROC"] = "1"
    import lm_eval

    return lm_eval.evaluate(
        lm=lm,
        task_dict={"tasks": tasks},
        samples=indices,
        bootstrap_iters=_BOOTSTRAP_ITERATIONS,
        log_samples=True,
        apply_chat_template=chat_template,
        confirm_run_unsafe_code=os.environ.get("HF_ALLOW_CODE_EVAL") == "1",
    )


def sample_items(
    counts: dict[str, int], max_items: int | None, seed: int, task: str, draws: Draws
) -> dict[str, list[int]]:
    """Return the item indices of each member of a task: all, or a sample of `max_items` over all members, sorted."""
    items = [(name, index) for name, count in counts.items() for index in range(count)]
    if not items:
        raise UserError(f"The task {task!r} has no items to evaluate.")
    indices = defaultdict(list)
    for number in sorted(draw_items(len(items), max_items, draws, seed, "items", task)):
        name, index = items[number]
        indices[name].append(index)
    return indices
