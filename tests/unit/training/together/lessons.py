"""Trainings that share their steps, and the same ones each by itself."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tests.unit.training.small import drawn_samples, keys_of
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.loss import find_head, summed_loss
from workflow_scripts.training.packing import Collator, Counted
from workflow_scripts.training.run import train
from workflow_scripts.training.samples import Samples
from workflow_scripts.training.together.run import Outcome, train_together
from workflow_scripts.training.trained import Trained

LORA: dict[str, Any] = {"method": "lora", "lora_rank": 2, "select": "best", "epochs": 2}
# Both are felt in every step.
LORA |= {"weight_decay": 0.1, "max_gradient_norm": 0.05}
# Of very different numbers of samples and lengths; the first ends when the last has hardly begun.
SIZES = ((5, 9), (18, 24), (11, 40), (3, 5), (8, 14), (13, 8), (6, 60), (21, 20))


def around(model) -> Callable[[str], Any]:
    """Gives the model anew each time, around the same weights."""
    own = {id(parameter): parameter for parameter in model.parameters()}
    return lambda dtype: copy.deepcopy(model, dict(own))


def held_out_loss(held_out: Samples) -> Callable[[Any], dict[str, float]]:
    """A score: the loss over some samples, padded, as nothing in training runs them."""

    def score(model) -> dict[str, float]:
        batch = Collator(packing=False, padding_token=0)(
            [held_out[n] for n in range(len(held_out))]
        )
        counted = Counted(batch.pop("before"), batch.pop("targets"))
        del batch["labels"]
        with torch.no_grad():
            loss = summed_loss(model, batch, counted, find_head(model))
        return {"acc": -float(loss) / len(counted.targets)}

    return score


def lesson(name: str, samples: Samples, seed: int = 0, larger: bool = True, **changes) -> Lesson:
    score = held_out_loss(drawn_samples(6, seed=len(samples) + 100))
    keys = keys_of(**LORA | {"schedule": "linear", "lora_alpha": 16.0} | changes)
    return Lesson(
        samples, keys, seed, {"data": name}, score=score, best_by=("acc", larger), name=name
    )


def lessons(sizes=SIZES, **changes: Any) -> list[Lesson]:
    """The rates differ, and of every other one the worst epoch is taken, so that it is not always the last."""
    return [
        lesson(
            f"{at}",
            drawn_samples(count, seed=at, most=most),
            larger=at % 2 == 0,
            learning_rate=1e-3 * (1 + 3 * (at % 3)),
            **changes,
        )
        for at, (count, most) in enumerate(sizes)
    ]


def together(model, asked: list[Lesson], state: Path, at_once: int = 100) -> dict[str, Outcome]:
    found = train_together(around(model), asked, state, device="cpu", at_once=at_once)
    assert found is not None, "this model cannot be shared"
    return dict(found)


def alone(model, asked: Lesson, state: Path) -> Trained:
    return train(around(model), asked, state, device="cpu", padding_token=0)
