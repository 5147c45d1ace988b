"""One training among others in a group: its order of samples, its rate, its optimiser and its curve."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import TrainerControl, TrainerState, get_scheduler

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.packing import Order
from workflow_scripts.training.samples import Sample
from workflow_scripts.training.selection import KeepBest
from workflow_scripts.training.together.stack import AdapterStack
from workflow_scripts.training.trained import Trained
from workflow_scripts.training.watching import StopWhenDiverged


class Learner:
    """The steps of one lesson, as transformers' Trainer takes them, in one slot of a stack."""

    def __init__(
        self, lesson: Lesson, stack: AdapterStack, slot: int, folder: Path, vocabulary: int
    ):
        self.lesson, self.slot, self._stack = lesson, slot, stack
        keys = lesson.keys
        self._order = Order(len(lesson.samples), keys.batch_size, keys.batch_size, lesson.seed)
        self._per_epoch = lesson.steps_per_epoch
        self.state = TrainerState(max_steps=lesson.steps)
        self._epoch_steps: tuple[int, list[list[int]]] = (-1, [])
        self._diverged = StopWhenDiverged(vocabulary)
        self._control = TrainerControl()
        self.best = None
        if keys.select != "last":
            self.best = KeepBest(folder, lesson.best_by, keys.select)

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
        of_one = torch.optim.SGD([parameter], lr=1.0)
        schedule = get_scheduler(lesson.schedule, of_one, lesson.warm_up_steps, lesson.steps)
        (self._share_of_rate,) = schedule.lr_lambdas

    @property
    def over(self) -> bool:
        ended = self._control.should_training_stop
        return ended or self.state.global_step >= self.state.max_steps

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
        return self.over or self.state.global_step % self.lesson.evaluate_every == 0

    def evaluate(self, model: Any) -> None:
        """`model` has the adapter of this slot."""
        assert self.lesson.score is not None, "trainings beside one another are scored"
        found = self.lesson.score(model)
        metrics = {f"eval_{name}": value for name, value in found.items()}
        self.note(self.state.global_step, metrics)
        if self.best is not None:
            self.best.on_evaluate(None, self.state, self._control, metrics, model)

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
        selected: dict[str, Any] = {"step": self.state.global_step}
        if self.best is not None:
            selected, adapter = self.best.selected(), dict(self.best.tensors())
        return Trained(
            parameters=adapter,
            keys=self.lesson.keys,
            report=about,
            history=self.state.log_history,
            selected=selected,
            facts=self.lesson.facts(self._order, self.state.global_step, padded=False),
            together=together,
        )
