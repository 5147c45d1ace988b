"""What one result file of somebody else says of one task, whichever harness wrote it, and the checks of it."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import hub_name_problem, name_of_folder
from workflow_scripts.core.items import Item
from workflow_scripts.scores.errors import RANGES, bare
from workflow_scripts.scores.foreign.cells import KnownModel

_SAME = 1e-6  # how near the mean of the items must come to the score beside them
NO_NAME = "without a name"


@dataclass(frozen=True)
class ForeignScore:
    value: float
    stderr: float | None
    best_constant: float | None = None
    chance: float | None = None
    n: int | None = None
    """Of a part of a task."""


class Weights(NamedTuple):
    """As rows of a leaderboard tell them apart; a model's may lie in a folder in several ways."""

    dtype: str
    commit: str

    def beside(self, others: "Weights") -> list[str]:
        """What they have that the others have not."""
        dtype, commit = self.dtype or "format not said", self.commit[:7] or "commit not said"
        return [dtype] * (self.dtype != others.dtype) + [commit] * (self.commit != others.commit)


@dataclass(frozen=True)
class Measured:
    """One model on one task; what the file does not say is None."""

    file: Path
    harness: str
    version: str | None
    model: str
    commit: str | None
    dtype: str | None
    task: str
    shots: int
    scores: dict[str, ForeignScore]
    n: int | None
    definition: dict[str, Any]
    task_version: Any = None
    items: tuple[Item, ...] = ()
    answers: Path | None = None
    """The file of the items, where it is another."""
    choices: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    """Of each item, what there was to choose from."""
    variant: str = ""
    study: str = ""
    """Of a run that was shared."""
    seed: int | None = None
    parameters: int | None = None
    base: KnownModel | None = None
    told_protocol: str | None = None
    parts: dict[str, dict[str, ForeignScore]] = field(default_factory=dict)
    """By part of the task, such as a subject, as the items have it."""

    @property
    def protocol(self) -> str:
        return self.told_protocol or ("few_shot" if self.shots else "direct")

    @property
    def weights(self) -> Weights:
        return Weights(self.dtype or "", self.commit or "")

    @property
    def cell(self) -> tuple[Any, ...]:
        """Which may stand there once with each number of examples."""
        of = self.study, self.model + self.variant, self.weights
        return *of, self.task, self.protocol, self.seed

    @property
    def everything(self) -> Iterator[tuple[str, str | None, ForeignScore]]:
        """Name, part and score, those of the whole task first."""
        for part, scores in ((None, self.scores), *self.parts.items()):
            for name, score in scores.items():
                yield name, part, score

    def with_floors(self) -> "Measured":
        """Its scores with the floors that its items tell, where the file tells none."""
        if not self.items or len(self.choices) != len(self.items) or not all(self.choices):
            return self
        chosen: dict[str | None, list[tuple[Item, tuple[str, ...]]]] = defaultdict(list)
        for pair in zip(self.items, self.choices, strict=True):
            chosen[pair[0].subset].append(pair)
        whole = [pair for of_part in chosen.values() for pair in of_part]
        parts = {part: _floored(of, chosen[part]) for part, of in self.parts.items()}
        return replace(self, scores=_floored(self.scores, whole), parts=parts)


def model_name(said: Any, path: Path) -> str:
    """As the hub has it; that of a folder is made of its path, as for a folder of one's own."""
    if not isinstance(said, str) or not said.strip():
        raise UserError(f"{path} names no model; expected its name or its folder.")
    return name_of_folder(said) if hub_name_problem(said) else said


def read_json(path: Path) -> dict[str, Any]:
    """An object, and nothing that JSON does not have."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}).") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} is no JSON object; expected a result file of a harness.")
    return found


def _no_number(name: str) -> None:
    """NaN, as a score that is none: None, so that whoever needs a number says so."""


def number_of(value: Any) -> float | None:
    """A finite number, or None for the words and blanks that harnesses write in place of one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def checked(one: Measured, *, known: bool = True) -> Measured:
    """Check that the file agrees with itself, and return it with its number of items.

    The range of a metric is checked on known tasks alone: on others some are percents.
    """
    _check_scores(one, known)
    if not one.items:
        return one
    _check_items(one)
    return replace(one, n=len(one.items))


def _check_scores(one: Measured, known: bool) -> None:
    where = f"{one.file}: {one.task}"
    for name in ("version", "commit", "dtype"):
        if not isinstance(said := getattr(one, name), str | None):
            raise UserError(f"{where}: its {name} is {said!r}; expected text.")
    if not isinstance(one.definition, dict):
        raise UserError(f"{where}: its definition is {one.definition!r}; expected an object.")
    for name, part, score in one.everything:
        low, high = RANGES.get(bare(name) if known else "", (-math.inf, math.inf))
        what = f"{name} of {part}" if part else name
        if not low - _SAME <= score.value <= high + _SAME:
            raise UserError(f"{where}: {what} is {score.value:g}; expected {low:g} to {high:g}.")
        if score.stderr is not None and score.stderr < 0:
            raise UserError(
                f"{where}: the error of {what} is {score.stderr:g}; expected 0 or more."
            )


def _check_items(one: Measured) -> None:
    there = f"{one.answers or one.file}: {one.task}"
    if one.n is not None and one.n != len(one.items):
        raise UserError(
            f"{there} has {len(one.items)} items; expected {one.n}, as {one.file.name} says."
        )
    twice = [item for item, count in Counter(item.item for item in one.items).items() if count > 1]
    if twice:
        raise UserError(f"{there}: the item {twice[0]} stands there twice; expected each once.")
    by_part: dict[str | None, list[Item]] = defaultdict(list)
    for item in one.items:
        by_part[item.subset].append(item)
    for name, part, score in one.everything:
        items = list(by_part.values()) if part is None else [by_part[part]]
        what, n = f"{name} of {part}" if part else name, sum(map(len, items))
        if not n:  # not told of the items
            continue
        if score.n is not None and score.n != n:
            raise UserError(
                f"{there} has {n} items of {part}; expected {score.n}, as {one.file.name} says."
            )
        means = _means(name, items)
        if means and min(abs(mean - score.value) for mean in means) > _SAME:
            raise UserError(
                f"{there}: the mean of {what} over its items is {means[0]:.6g}; expected"
                f" {score.value:.6g}, as {one.file.name} says."
            )


def _means(name: str, parts: Sequence[Sequence[Item]]) -> tuple[float, float] | None:
    """Over all items, and of the means of the parts, which is a group's score too; None unless each has this score."""
    values = [[item.scores[name] for item in part if name in item.scores] for part in parts]
    if not all(values) or list(map(len, values)) != list(map(len, parts)):
        return None
    return fmean(value for part in values for value in part), fmean(map(fmean, values))


def each_once(found: Iterable[Measured]) -> list[str]:
    """The problems of several files that have the same cell."""
    first: dict[tuple[Any, ...], Measured] = {}
    problems = []
    for one in found:
        other = first.setdefault((*one.cell, one.shots), one)
        if other is not one:
            problems.append(
                f"{one.file}: {one.model} on {one.task} ({one.protocol}) stands in {other.file} too; expected"
                " each once."
            )
    return problems


def _floored(
    scores: dict[str, ForeignScore], chosen: Sequence[tuple[Item, tuple[str, ...]]]
) -> dict[str, ForeignScore]:
    """With the best fixed answer and chance, of items that are choices between given answers."""
    if not chosen:
        return scores
    right: list[str | None] = []  # a harness says which answer it is, or what
    for item, answers in chosen:
        by_place = {str(at): answer for at, answer in enumerate(answers)}
        right.append(by_place.get(item.gold or "", item.gold))
    best = None if None in right else max(Counter(right).values()) / len(right)
    chance = fmean(1 / len(answers) for _, answers in chosen)
    return {name: replace(one, best_constant=best, chance=chance) for name, one in scores.items()}
