"""Numbers with names: what prose may say of the results, computed once and typed nowhere."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.core.clean_text import escape_latex
from workflow_scripts.core.files import write_json, write_text
from workflow_scripts.render import text

PLACE = re.compile(r"\{([a-z][a-z0-9_.]*)\}")
Values = dict[str, Any]  # by a number's name; None and NaN where it could not be computed


@dataclass(frozen=True)
class Number:
    """`value` to compute and decide with, `text` to print, `about` to know what it is."""

    value: float | int | str
    text: str
    about: str


Numbers = dict[str, Number]


def filled(sentence: str, show: Callable[[str], str], plain: Callable[[str], str] = str) -> str:
    """Fill a sentence: each {name} as `show` has it, and all between as `plain` has it."""
    parts = PLACE.split(sentence)
    return "".join(show(part) if at % 2 else plain(part) for at, part in enumerate(parts))


def percent(value: float) -> str:
    """Format without decimals but where nearly all or nearly none would hide behind them."""
    digits = 1 if f"{100 * value:.0f}" in ("0", "100") and value not in (0, 1) else 0
    return f"{100 * value:.{digits}f}%"


# The kinds of numbers.tsv; any other is a format of Python's own, like .2f.
_FORMATS: dict[str, Callable[[Any], str]] = {
    "text": str,
    "count": "{:,.0f}".format,
    "percent": percent,
    "perplexity": text.perplexity,
    "points": lambda share: text.fixed(100 * share, ".1f"),
}


def read_declared(*files: Path) -> dict[str, tuple[str, str]]:
    """Read from numbers.tsv of each name how it is printed, and what it is."""
    rows = [line.split("\t") for file in files for line in file.read_text("utf-8").splitlines()[1:]]
    return {name: (kind, about) for name, kind, about in rows}


def name_numbers(values: Values, declared: dict[str, tuple[str, str]]) -> Numbers:
    """Make numbers of the values that could be computed."""
    numbers = {}
    for name, value in values.items():
        kind, about = declared[name]
        value = value.item() if hasattr(value, "item") else value
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            continue
        shown = _FORMATS[kind](value) if kind in _FORMATS else text.fixed(value, kind)
        numbers[name] = Number(value, shown, about)
    return numbers


def write_numbers(numbers: Numbers, json_path: Path, tex_path: Path) -> None:
    write_json(json_path, {name: asdict(number) for name, number in numbers.items()})
    lines = [
        r"% \val{name} prints a number of the results by its name; an unknown name is an error.",
        r"\makeatletter",
        r"\newcommand{\val}[1]{\ifcsname val@#1\endcsname\csname val@#1\endcsname"
        r"\else\PackageError{chorus}{There is no number #1}{}\fi}",
        r"\newcommand{\defval}[2]{\expandafter\def\csname val@#1\endcsname{#2}}",
    ]
    lines += [
        rf"\defval{{{name}}}{{{escape_latex(number.text)}}}% {number.about}"
        for name, number in numbers.items()
    ]
    write_text(tex_path, "\n".join([*lines, r"\makeatother", ""]))


def read_numbers(path: Path) -> Numbers:
    fields = json.loads(path.read_text(encoding="utf-8"))
    return {name: Number(**number) for name, number in fields.items()}
