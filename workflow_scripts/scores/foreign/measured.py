"""What one result file of somebody else says of one task, whichever harness wrote it, and the checks of it."""

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import hub_name_problem, name_of_folder
from workflow_scripts.core.items import Item
from workflow_scripts.scores.errors import RANGES, bare

_SAME = 1e-6  # how near the mean of the items must come to the score beside them
NO_NAME = "without a name"


@dataclass(frozen=True)
class ForeignScore:
    value: float
    stderr: float | None
    best_constant: float | None = None
    chance: float | None = None


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
    seed: int | None = None
    told_protocol: str | None = None

    @property
    def protocol(self) -> str:
        return self.told_protocol or ("few_shot" if self.shots else "direct")

    @property
    def cell(self) -> tuple[str | int | None, ...]:
        return self.model + self.variant, self.task, self.protocol, self.seed

    def with_floors(self) -> "Measured":
        """Its scores with the floors that its items tell, where the file tells none."""
        best, chance = floors_of(self)
        if best is None and chance is None:
            return self
        scores = {
            name: replace(one, best_constant=best, chance=chance)
            for name, one in self.scores.items()
        }
        return replace(self, scores=scores)


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


def checked(one: Measured) -> Measured:
    """As it is, with its number of items, if the file agrees with itself; else a sentence on where it does not."""
    where = f"{one.file}: {one.task}"
    for name in ("version", "commit", "dtype"):
        if not isinstance(said := getattr(one, name), str | None):
            raise UserError(f"{where}: its {name} is {said!r}; expected text.")
    if not isinstance(one.definition, dict):
        raise UserError(f"{where}: its definition is {one.definition!r}; expected an object.")
    for name, score in one.scores.items():
        low, high = RANGES.get(bare(name), (-math.inf, math.inf))
        if not low - _SAME <= score.value <= high + _SAME:
            raise UserError(f"{where}: {name} is {score.value:g}; expected {low:g} to {high:g}.")
        if score.stderr is not None and score.stderr < 0:
            raise UserError(
                f"{where}: the error of {name} is {score.stderr:g}; expected 0 or more."
            )
    if not one.items:
        return one
    there = f"{one.answers or one.file}: {one.task}"
    if one.n is not None and one.n != len(one.items):
        raise UserError(
            f"{there} has {len(one.items)} items; expected {one.n}, as {one.file.name} says."
        )
    twice = [item for item, count in Counter(item.item for item in one.items).items() if count > 1]
    if twice:
        raise UserError(f"{there}: the item {twice[0]} stands there twice; expected each once.")
    subsets = pd.Series([item.subset or "" for item in one.items])
    for name, score in one.scores.items():
        values = pd.Series([item.scores.get(name, math.nan) for item in one.items])
        of_parts = values.groupby(subsets).mean()
        # A group's score is the mean over its items, or that of its tasks' means.
        means = (values.mean(), of_parts.mean())
        if values.notna().all() and min(abs(mean - score.value) for mean in means) > _SAME:
            raise UserError(
                f"{there}: the mean of {name} over its items is {means[0]:.6g}; expected"
                f" {score.value:.6g}, as {one.file.name} says."
            )
    return replace(one, n=len(one.items))


def each_once(found: Iterable[Measured]) -> list[str]:
    """The problems of several files that have the same cell."""
    first: dict[tuple[str | int | None, ...], Measured] = {}
    problems = []
    for one in found:
        other = first.setdefault(one.cell, one)
        if other is not one:
            problems.append(
                f"{one.file}: {one.model} on {one.task} ({one.protocol}) stands in {other.file} too; expected"
                " each once."
            )
    return problems


def floors_of(one: Measured) -> tuple[float | None, float | None]:
    """The best fixed answer and chance, of a choice between given answers; None where it is none."""
    if not one.items or len(one.choices) != len(one.items) or not all(one.choices):
        return None, None
    right = []  # a harness says which answer it is, or what
    for item, answers in zip(one.items, one.choices, strict=True):
        by_place = {str(at): answer for at, answer in enumerate(answers)}
        right.append(by_place.get(item.gold or "", item.gold))
    best = None if None in right else max(Counter(right).values()) / len(right)
    return best, float(np.mean([1 / len(answers) for answers in one.choices]))
