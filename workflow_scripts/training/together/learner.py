"""One training among others in a group: its order of samples, its rate, its optimiser and its curve."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import TrainerState, get_scheduler

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.packing import Order, amount_trained
from workflow_scripts.training.run import SCHEDULES
from workflow_scripts.training.samples import Sample, Samples
from workflow_scripts.training.selection import KeepBest
from workflow_scripts.training.together.stack import AdapterStack
from workflow_scripts.training.trained import Trained
from workflow_scripts.training.trainer import Scorer
from workflow_scripts.training.watching import StopWhenDiverged


@dataclass(frozen=True)
class Lesson:
    """What is to be learned, and how: all that `train` is told of one training."""

    name: str
    samples: Samples
    keys: TrainingKeys
    seed: int
    belongs_to: dict[str, Any]
    score: Scorer
    best_by: tuple[str, bool]


class Learner:
    """The steps of one lesson, as transformers' Trainer takes them, in one slot of a stack."""

    def __init__(
        self, lesson: Lesson, stack: AdapterStack, slot: int, folder: Path, vocabulary: int
    ):
        self.lesson, self.slot, self._stack = lesson, slot, stack
        keys, samples = lesson.keys, len(lesson.samples)
        self._order = Order(samples, keys.batch_size, keys.batch_size, lesson.seed)
        self._per_epoch = math.ceil(samples / keys.batch_size)
        steps = int(min(keys.epochs * self._per_epoch, keys.max_steps or math.inf))
        self.state = TrainerState(max_steps=steps)
        self._epoch_steps: tuple[int, list[list[int]]] = (-1, [])
        self._diverged = StopWhenDiverged(vocabulary)
        self.best = KeepBest(folder, *lesson.best_by) if keys.select == "best" else None

        parameter = torch.nn.Parameter(stack.values[slot])
        parameter.grad = stack.gradients[slot]
        self._parameter = parameter
        self.optimiser = torch.optim.AdamW(
            [parameter], lr=keys.learning_rate, weight_decay=keys.weight_decay, fused=True
        )
        first, second = (moment[slot] for moment in stack.moments)
        self._adamw = {
            "step": torch.zeros((), device=parameter.device),
            "exp_avg": first,
            "exp_avg_sq": second,
        }
        self.optimiser.state[parameter] = self._adamw
        warm_up = round(keys.warm_up * steps)
        schedule = get_scheduler(
            SCHEDULES[keys.schedule], torch.optim.SGD([parameter], lr=1.0), warm_up, steps
        )
        (self._share_of_rate,) = schedule.lr_lambdas

    @property
    def over(self) -> bool:
        return self.state.global_step >= self.state.max_steps

    def next_batch(self) -> list[Sample]:
        epoch, step = divmod(self.state.global_step, self._per_epoch)
        if self._epoch_steps[0] != epoch:
            self._order.set_epoch(epoch)
            self._epoch_steps = epoch, [step for (step,) in self._order.steps()]
        return [self.lesson.samples[number] for number in self._epoch_steps[1][step]]

    def seed_of_draws(self, first: int) -> int:
        """For the part of the next batch that begins with this sample."""
        step = self.state.global_step
        return derive_seed(self.lesson.seed, "dropout", self.lesson.name, step, first)

    def step(self) -> Tensor:
        """With the gradient that lies in the slot; gives its length, before it is cut."""
        keys = self.lesson.keys
        norm = torch.nn.utils.clip_grad_norm_([self._parameter], keys.max_gradient_norm)
        self.optimiser.param_groups[0]["lr"] = self.rate
        self.optimiser.step()
        self.state.global_step += 1
        self.state.epoch = self._epoch_after(self.state.global_step)
        return norm

    def _epoch_after(self, step: int) -> float:
        epoch, step = divmod(step - 1, self._per_epoch)
        return epoch + (step + 1) / self._per_epoch

    @property
    def rate(self) -> float:
        return self.lesson.keys.learning_rate * self._share_of_rate(self.state.global_step)

    def note(self, step: int, logs: dict[str, float]) -> None:
        """What came of a step or an evaluation; raises where the training goes wrong."""
        entry = {**logs, "epoch": self._epoch_after(step), "step": step}
        self.state.log_history.append(dict(sorted(entry.items())))
        at = replace(self.state, global_step=step)
        self._diverged.on_log(None, at, None, logs)

    @property
    def evaluates_now(self) -> bool:
        every = self.lesson.keys.evaluate_every or self._per_epoch
        return self.over or self.state.global_step % every == 0

    def evaluate(self, model: Any) -> None:
        """`model` has the adapter of this slot."""
        found = self.lesson.score(model)
        metrics = {f"eval_{name}": value for name, value in found.items()}
        self.note(self.state.global_step, metrics)
        if self.best is not None:
            self.best.on_evaluate(None, self.state, None, metrics, model)

    def go_on_from(self, state: TrainerState, tensors: dict[str, Tensor]) -> None:
        self.state = state
        self._diverged.on_train_begin(None, state, None)
        for name, own in self._own().items():
            own.copy_(tensors[name])

    def tensors(self) -> dict[str, Tensor]:
        """What `go_on_from` takes, beside the state."""
        return {name: own.to("cpu", copy=True) for name, own in self._own().items()}

    def _own(self) -> dict[str, Tensor]:
        return {"values": self._parameter.detach(), **self._adamw}

    def result(self, adapter: dict[str, Tensor], about: dict[str, Any], together: int) -> Trained:
        """What came of it; `adapter` is the one of the last step, and `together` how many shared one."""
        steps, samples = self.state.global_step, self.lesson.samples
        selected: dict[str, Any] = {"step": steps}
        if self.best is not None:
            best = self.best.best()
            assert best is not None, "no evaluation has kept its state"
            selected |= {"step": best["step"], "by": self.lesson.best_by[0], "value": best["value"]}
            adapter = self.best.tensors()
        amount = amount_trained(samples, self._order, steps, padded=False)
        return Trained(
            model=None,
            parameters=adapter,
            last_parameters=None,
            keys=self.lesson.keys,
            report=about,
            history=self.state.log_history,
            selected=selected,
            facts={
                "steps": steps,
                "samples": len(samples),
                "held_out_samples": 0,
                "tokens": amount.tokens,
                "padding": amount.padding,
            },
            speed={},
            together=together,
        )
