"""Numbers with names: what prose may say of the results, computed once and typed nowhere."""

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from workflow_scripts.core.clean_text import latex_text
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_json, write_text
from workflow_scripts.render import text

PLACE = re.compile(r"\{([a-z][a-z0-9_.]*)\}")


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
    parts = PLACE.split(sentence)
    return "".join(show(part) if at % 2 else plain(part) for at, part in enumerate(parts))


def count(value: float) -> str:
    return f"{value:,.0f}"


def percent(value: float) -> str:
    """Without digits behind the point but where nearly all or nearly none would hide behind it."""
    shown = f"{100 * value:.0f}"
    return f"{100 * value:.1f}%" if shown in ("0", "100") and value not in (0, 1) else f"{shown}%"


# The kinds of numbers.tsv; any other is a format of Python's own, like .2f.
_KINDS: dict[str, Callable[[Any], str]] = {
    "text": str,
    "count": count,
    "percent": percent,
    "perplexity": text.perplexity,
    "points": lambda share: text.fixed(100 * share, ".1f"),
}
Values = dict[str, Any]  # by a number's name; None and NaN where it could not be computed


class Declared(Mapping[str, tuple[str, str]]):
    """The numbers that may be: of each name how it is printed, and what it is.

    In numbers.tsv, `<direct|trained>` in a name stands for either word, `<>` behind it for the same word, and
    `_n` for `_1`, `_2` and so on.
    """

    def __init__(self, rows: Iterable[tuple[str, str, str]]):
        self._rows: dict[str, tuple[str, str]] = {}
        for name, kind, about in rows:
            start, _, rest = name.partition("<")
            words, _, end = rest.partition(">")
            for word in words.split("|"):
                one = start + word + end
                if one in self._rows:
                    raise ValueError(f"the number {one} is declared twice")
                self._rows[one] = (kind, about.replace("<>", word))

    @classmethod
    def read(cls, *files: Path) -> "Declared":
        """From several files as one; each has a line of headings."""
        rows = []
        for file in files:
            lines = file.read_text(encoding="utf-8").splitlines()
            rows += list(csv.reader(lines[1:], delimiter="\t", quoting=csv.QUOTE_NONE))
        return cls((name, kind, about) for name, kind, about in rows)

    def __getitem__(self, name: str) -> tuple[str, str]:
        return self._rows[name if name in self._rows else re.sub(r"_\d+(?=_|$)", "_n", name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def named(self, values: Values) -> list[Number]:
        """Numbers of those that could be computed: what is not there cannot be told of."""
        found = []
        for name, value in values.items():
            kind, about = self[name]
            if value is None or (isinstance(value, float) and not math.isfinite(value)):
                continue
            value = value.item() if hasattr(value, "item") else value
            show = _KINDS.get(kind) or partial(text.fixed, spec=kind)
            found.append(Number(name, value, show(value), about))
        return found


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
