"""Run lm-eval's own task on one loaded model and keep everything that a record needs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.manifest import Manifest
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks

# lm-eval's own default; few-shot examples are drawn with it unless a task fixes them.
FEWSHOT_SEED = 1234
BOOTSTRAP_DRAWS = 1000


@dataclass(frozen=True)
class LmEvalRun:
    tasks: dict[str, Any]  # lm-eval's task objects by name, one or, for a group, several
    results: dict[str, dict[str, Any]]  # lm-eval's metrics by task
    samples: dict[str, list[dict[str, Any]]]  # lm-eval's samples by task
    datasets: dict[str, Manifest]
    split: str
    tokens: int


def run_lm_eval(
    loaded: LoadedModel,
    hub: Path,
    task: str,
    *,
    shots: int,
    batch_size: int,
    max_items: int | None,
    seed: int,
) -> LmEvalRun:
    import lm_eval
    import torch
    from lm_eval.models.huggingface import HFLM

    with mirror(hub) as datasets, torch.inference_mode():
        tasks = load_tasks([task])
        for one in tasks.values():
            one.set_config("num_fewshot", shots)
            one.set_fewshot_seed(FEWSHOT_SEED)
        lm = HFLM(pretrained=loaded.model, tokenizer=loaded.tokenizer, batch_size=batch_size)
        with _counted_tokens(loaded.model) as count:
            output = lm_eval.evaluate(
                lm=lm,
                task_dict={"tasks": tasks},
                samples={
                    name: choose_items(len(one.eval_docs), max_items, seed, name)
                    for name, one in tasks.items()
                },
                bootstrap_iters=BOOTSTRAP_DRAWS,
                log_samples=True,
            )
        return LmEvalRun(
            tasks=tasks,
            results={name: output["results"][name] for name in tasks},
            samples={name: output["samples"][name] for name in tasks},
            datasets=datasets,
            split=_split(next(iter(tasks.values()))),
            tokens=count["tokens"],
        )


def choose_items(available: int, cap: int | None, seed: int, task: str) -> list[int]:
    """All items, or a seeded draw of `cap` of them, in their own order."""
    if available == 0:
        raise UserError(f"The task {task!r} has no items to evaluate.")
    if cap is None or available <= cap:
        return list(range(available))
    drawn = np.random.default_rng(derive_seed(seed, "items", task)).permutation(available)[:cap]
    return sorted(map(int, drawn))


def _split(task) -> str:
    return task.config.test_split or task.config.validation_split


class _counted_tokens:
    """Count what runs through the model, padding included, whoever calls it."""

    def __init__(self, model):
        self._model, self._count = model, {"tokens": 0}

    def __enter__(self) -> dict[str, int]:
        def count(_module, args, kwargs):
            ids = kwargs.get("input_ids", args[0] if args else None)
            self._count["tokens"] += 0 if ids is None else ids.numel()

        self._hook = self._model.register_forward_pre_hook(count, with_kwargs=True)
        return self._count

    def __exit__(self, *_exception) -> None:
        self._hook.remove()
