"""Numbers with names: what prose may say of the results, computed once and typed nowhere."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_json, write_text
from workflow_scripts.render.tables import latex_text
from workflow_scripts.render.text import number as shown_number

NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")
_PLACE = re.compile(r"\{([a-z][a-z0-9_.]*)\}")


@dataclass(frozen=True)
class Number:
    """`value` to compute and decide with, `text` to print, `about` to know what it is."""

    name: str
    value: float | int | str
    text: str
    about: str


class Numbers(Mapping[str, Number]):
    def __init__(self, numbers: Iterable[Number]):
        self._numbers: dict[str, Number] = {}
        for number in numbers:
            if number.name in self._numbers:
                raise ValueError(f"the number {number.name} is named twice")
            self._numbers[number.name] = number

    def __getitem__(self, name: str) -> Number:
        if name not in self._numbers:
            raise UserError(f"There is no number {name!r} in results/tables/numbers.json.")
        return self._numbers[name]

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def value(self, name: str):
        return self[name].value


def filled(sentence: str, show: Callable[[str], str], plain: Callable[[str], str] = str) -> str:
    """The sentence with each {name} as `show` has it, and all between as `plain` has it."""
    parts = _PLACE.split(sentence)
    return "".join(show(part) if at % 2 else plain(part) for at, part in enumerate(parts))


def count(value: float) -> str:
    return f"{value:,.0f}"


def fixed(digits: int) -> Callable[[float], str]:
    return lambda value: str(shown_number(value, f".{digits}f"))


def percent(value: float) -> str:
    """Without digits behind the point but where nearly all or nearly none would hide behind it."""
    shown = f"{100 * value:.0f}"
    return f"{100 * value:.1f}%" if shown in ("0", "100") and value not in (0, 1) else f"{shown}%"


def number(name: str, value, show: Callable[[float], str], about: str) -> list[Number]:
    """One number, or none where it could not be computed: what is not there cannot be told of."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return []
    value = value.item() if hasattr(value, "item") else value
    return [Number(name, value, show(value), about)]


def write_numbers(numbers: Numbers, json_path: Path, tex_path: Path) -> None:
    write_json(
        json_path,
        {n.name: {k: v for k, v in asdict(n).items() if k != "name"} for n in numbers.values()},
    )
    lines = [
        r"% \val{name} prints a number of the results by its name; an unknown name is an error.",
        r"\makeatletter",
        r"\newcommand{\val}[1]{\ifcsname val@#1\endcsname\csname val@#1\endcsname"
        r"\else\PackageError{chorus}{There is no number #1}{}\fi}",
        r"\newcommand{\defval}[2]{\expandafter\def\csname val@#1\endcsname{#2}}",
    ]
    lines += [rf"\defval{{{n.name}}}{{{latex_text(n.text)}}}% {n.about}" for n in numbers.values()]
    write_text(tex_path, "\n".join([*lines, r"\makeatother", ""]))


def read_numbers(path: Path) -> Numbers:
    fields = json.loads(path.read_text(encoding="utf-8"))
    return Numbers(Number(name=name, **number) for name, number in fields.items())
