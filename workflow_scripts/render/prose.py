"""Render a chapter's text from a Jinja2 template and the numbers of numbers.json.

A paragraph ends at an empty line. A sentence begins at the margin and continues in the indented lines below
it. `{{ name | format }}` prints a number. A part in [[double brackets]] that prints a number missing from this run is
left out. Outside of brackets the whole sentence is left out, and with the first sentence its paragraph.

`{% if mmlu.em_clear > 0 %}` tests a number's value and is false if the number is missing. The functions `joined` and
`compared` choose words.
"""

import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jinja2 import ChainableUndefined, Environment, TemplateError

from workflow_scripts.core.errors import UserError
from workflow_scripts.render.numbers import FORMATS, Values
from workflow_scripts.render.words import CLEAR, joined

# Markers in a template's text: the end of a paragraph, and a missing number.
_END, _MISSING = "\f", "\0"


class MissingNumber(ChainableUndefined):
    """A missing number: it is false, and so is each of <, <=, > and >= with it; in any format it is a marker."""

    def __lt__(self, other: Any) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __lt__

    def __float__(self) -> float:
        return math.nan

    def __format__(self, spec: str) -> str:
        return _MISSING

    def __str__(self) -> str:
        return _MISSING


def read_title(template: Path) -> str:
    """Return the heading in the template's first line."""
    return template.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def render_prose(template: Path, numbers: Values) -> list[str]:
    """Render the paragraphs of a template, leaving out parts, sentences and paragraphs with missing numbers."""
    environment = Environment(undefined=MissingNumber)
    environment.filters |= FORMATS | {"joined": _join_parts}
    environment.globals |= {"compared": compared, "errors_apart": errors_apart}
    source = template.read_text(encoding="utf-8").partition("\n")[2]
    # Jinja2 treats a form feed as white space, so an empty line is allowed inside a tag.
    source = re.sub(r"\n[ \t]*\n", f"\n{_END}\n", source)
    try:
        text = environment.from_string(source).render(_nest(numbers))
    except (TemplateError, TypeError) as error:
        raise UserError(f"{template}: {error}") from error
    paragraphs = []
    for paragraph in text.split(_END):
        sentences = [_trim(part) for part in re.split(r"\n(?=\S)", paragraph) if part.strip()]
        if sentences and sentences[0]:
            paragraphs.append(" ".join(filter(None, sentences)))
    return paragraphs


def _trim(text: str) -> str:
    """Leave out bracketed parts that lack a number; return nothing if the rest lacks one."""
    text = re.sub(r"(?s)\[\[(.*?)\]\]", lambda part: "" if _MISSING in part[1] else part[1], text)
    text = "" if _MISSING in text else " ".join(text.split())
    return re.sub(r" (?=[,;.](?:\s|$))", "", text)


def _join_parts(text: str, between: str = "") -> str:
    """Turn `a | b | c` into `a, b and c`, without those whose numbers are missing."""
    parts = [part for part in map(_trim, text.split("|")) if part]
    return (between.join(parts) if between else joined(parts)) or _MISSING


def _nest(numbers: Values) -> dict[str, Any]:
    """Nest values with dotted names: `a.b` becomes attribute `b` of `a`."""
    root = SimpleNamespace()
    for name, value in numbers.items():
        *parents, last = name.split(".")
        space = root
        for parent in parents:
            space = vars(space).setdefault(parent, SimpleNamespace())
        setattr(space, last, value)
    return vars(root)


def compared(z: float, below: str, within: str, above: str) -> str:
    """Return the words for a difference of z standard errors: below, within or above CLEAR of them."""
    if math.isnan(z):
        return _MISSING
    return below if z <= -CLEAR else above if z >= CLEAR else within


def errors_apart(value: float, error: float, other: float, other_error: float) -> float:
    """Compute value minus other in standard errors of the difference; NaN if a number is missing."""
    return (float(value) - float(other)) / (math.hypot(error, other_error) or math.inf)
