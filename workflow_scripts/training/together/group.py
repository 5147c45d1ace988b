"""Several trainings in one: each step takes the next batch of all that still train over the same model."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from workflow_scripts.core.errors import Interrupted
from workflow_scripts.core.machine import machine_problem, ran_out
from workflow_scripts.training.calling import call_of, sent_to
from workflow_scripts.training.evaluated import as_evaluated
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.loss import summed_losses
from workflow_scripts.training.packing import Collator
from workflow_scripts.training.precision import calculating_in
from workflow_scripts.training.reading import steps_between_reads
from workflow_scripts.training.run import free_memory
from workflow_scripts.training.together.learner import Learner
from workflow_scripts.training.together.products import Groups
from workflow_scripts.training.together.rows import Part, counted_in, rows_of
from workflow_scripts.training.together.saved import Saved
from workflow_scripts.training.together.stack import AdapterStack
from workflow_scripts.training.trained import Trained
from workflow_scripts.training.trained_parameters import set_parameters
from workflow_scripts.training.watching import Leaving, SaveClock

Outcome = Trained | Exception


class CannotShare(Exception):
    """A step fails that all take together; why is told to people. One by one some or all may well go on."""


class SharedTrainings:
    """`adapted` holds one adapter of PEFT's, to be evaluated with."""

    def __init__(
        self,
        stack: AdapterStack,
        adapted: Any,
        lessons: list[Lesson],
        beginnings: dict[int, dict[str, Tensor]],
        saved: Saved,
        most_tokens: int,
        about: dict[str, Any],
    ):
        """`beginnings` are the values of a new adapter, by seed; `about` is what the log says of all."""
        self._stack, self._model = stack, stack.model.train()
        self._adapted = as_evaluated(adapted)
        self._beginnings, self._saved, self._about = beginnings, saved, about
        self._lessons = {lesson.name: lesson for lesson in lessons}
        self._collator = Collator(packing=True, padding_token=0)
        self._most = saved.largest_batch or most_tokens
        self._steps, self._unsaved = saved.step, 0
        self._leaving = Leaving()
        self._clock = SaveClock()
        self._unread: list[tuple[Learner, int, float, Tensor]] = []
        self._learners: list[Learner] = []  # in the order of their slots
        self._waiting = list(self._lessons) if saved.waiting is None else saved.waiting
        for name, slot in saved.slots.items():
            saved.bring_back(self._begin(name, slot))

    def outcomes(self) -> Iterator[tuple[str, Outcome]]:
        """Of each training, as soon as it has ended; CannotShare where they cannot go on like this."""
        going_on = {*self._waiting, *(learner.lesson.name for learner in self._learners)}
        for name, lesson in self._lessons.items():
            if name not in going_on:
                yield name, self._saved.outcome_of(name, lesson.keys)
        while self._waiting or self._learners:
            with self._leaving.listening():
                self._fill()
                self._step()
                due = self._due  # read once: a signal may come at any moment
                ended = self._after_step(due)
                if due:
                    self._save()
            yield from ended

    def _fill(self) -> None:
        free = set(range(len(self._stack.values))) - {one.slot for one in self._learners}
        for slot in sorted(free):
            if self._waiting:
                self._begin(self._waiting.pop(0), slot)

    def _begin(self, name: str, slot: int) -> Learner:
        lesson, vocabulary = self._lessons[name], self._model.config.vocab_size
        self._stack.put(slot, self._beginnings[lesson.seed])
        folder = self._saved.folder_of(name)
        learner = Learner(lesson, self._stack, slot, folder, vocabulary)
        self._learners = sorted([*self._learners, learner], key=lambda one: one.slot)
        return learner

    def _step(self) -> None:
        batches = {learner.slot: learner.next_batch() for learner in self._learners}
        again = True  # memory may have been another's for a moment
        while True:
            try:
                losses = self._differentiate(batches)
                break
            except Exception as error:
                if not ran_out(error):
                    if machine_problem(error):
                        raise
                    what = f"their step failed ({type(error).__name__}: {error})"
                    raise CannotShare(what) from error
                longest = max(len(sample.tokens) for batch in batches.values() for sample in batch)
                if not again and self._most <= longest:
                    what = f"memory ran out with one sample in a row ({error})"
                    raise CannotShare(what) from None
            if again:
                again = False
                print("Memory ran out: the step is tried once more.", flush=True)
            else:
                self._most //= 2
                self._saved.largest_batch = self._most
                print(
                    f"Memory ran out: {self._most} tokens in a row now; a step keeps its samples."
                )
            free_memory()
        for learner in self._learners:
            rate, step = learner.rate, learner.state.global_step + 1
            found = torch.stack([losses[learner.slot], learner.step().to(losses.dtype)])
            self._unread.append((learner, step, rate, found))
        self._steps += 1
        self._unsaved += len(self._learners)

    def _differentiate(self, batches: dict[int, list]) -> Tensor:
        """The losses of all slots, and their gradients into the stack."""
        self._stack.gradients.zero_()
        counted = {slot: counted_in(batch) for slot, batch in batches.items()}
        exact = torch.promote_types(self._model.dtype, torch.float32)
        losses = torch.zeros(len(self._stack.values), dtype=exact, device=self._model.device)
        for row in rows_of(batches, self._most):
            found = self._losses(row)
            shares = [loss / counted[part.slot] for part, loss in zip(row, found, strict=True)]
            torch.stack(shares).sum().backward()
            for part, share in zip(row, shares, strict=True):
                losses[part.slot] += share.detach()
        return losses

    def _losses(self, row: list[Part]) -> list[Tensor]:
        device, stack = self._model.device, self._stack
        tokens, seeds = [0] * len(stack.values), []
        learners = {learner.slot: learner for learner in self._learners}
        for part in row:
            tokens[part.slot] = part.tokens
            seeds.append(learners[part.slot].seed_of_draws(part.first))
        stack.groups = Groups.of(tokens, device)
        stack.dropout.begin(seeds, [part.tokens for part in row])
        batch = self._collator([sample for part in row for sample in part.samples])
        borders = [sum(len(part.samples) for part in row[:at]) for at in range(len(row))]
        inputs, _, counted = call_of(self._model, sent_to(device, batch), borders)
        parts = [part.counted for part in row]
        with calculating_in(self._about["precision"], device.type):
            return summed_losses(self._model, inputs, counted, parts, stack.head)

    def _after_step(self, reads: bool) -> list[tuple[str, Outcome]]:
        """Who has ended, well or not; what is noticed of one is nothing to the others."""
        evaluated = [learner for learner in self._learners if learner.evaluates_now]
        every = steps_between_reads(self._model.device)
        if not (evaluated or reads or len(self._unread) >= every * len(self._learners)):
            return []
        ended: dict[Learner, Outcome] = {**self._read()}
        for learner in evaluated:
            if learner in ended:
                continue
            try:
                adapter = self._stack.take(learner.slot)
                set_parameters(self._adapted, adapter)
                learner.evaluate(self._adapted)
                if learner.over:
                    ended[learner] = learner.result(adapter, self._about, len(self._stack.values))
            except Interrupted:
                raise
            except Exception as error:
                if machine_problem(error):
                    raise
                ended[learner] = error
        self._learners = [learner for learner in self._learners if learner not in ended]
        outcomes = [(learner.lesson.name, outcome) for learner, outcome in ended.items()]
        for name, outcome in outcomes:
            self._saved.keep(name, outcome)
        return outcomes

    def _read(self) -> dict[Learner, Exception]:
        """Notes what came of the steps; gives those whose training has gone wrong, and how."""
        wrong: dict[Learner, Exception] = {}
        values = torch.stack([found for *_, found in self._unread]).tolist()
        for (learner, step, rate, _), (loss, norm) in zip(self._unread, values, strict=True):
            if learner in wrong:
                continue
            try:
                learner.note(step, {"loss": loss, "grad_norm": norm, "learning_rate": rate})
            except Exception as error:
                wrong[learner] = error
        self._unread = []
        return wrong

    @property
    def _due(self) -> bool:
        """As much work is lost to a kill as of one training by itself, however many train."""
        every = next(iter(self._lessons.values())).keys.save_every
        due = self._clock.due if every is None else self._unsaved >= every
        return self._leaving.wanted or due

    def _save(self) -> None:
        self._unsaved = 0
        self._clock.saved()
        self._saved.save(self._steps, self._learners, self._waiting)
        if self._leaving.wanted:
            self._leaving.leave(f"step {self._steps} of the trainings that share a step")
