"""Validate content with a pydantic model, and describe each problem in a sentence with the key and the value."""

import re
from collections.abc import Iterator
from reprlib import Repr
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from workflow_scripts.core.clean_text import clean_line
from workflow_scripts.core.errors import UserError, format_suggestion

Model = TypeVar("Model", bound=BaseModel)

_REPR = Repr()
_REPR.maxstring = _REPR.maxother = 80
format_value = _REPR.repr  # truncates long values


def validate(kind: type[Model], content: Any, where: str = "", context: Any = None) -> Model:
    """Validate `content` as `kind`; a UserError has a sentence for each problem, prefixed with `where`."""
    try:
        return kind.model_validate(content, context=context)
    except ValidationError as error:
        keys = list(_list_keys(kind))
        raise UserError(
            clean_line(where + _describe(problem, keys))
            for problem in error.errors(include_url=False)
            # A list may be too short only because its entries are invalid; then only the entries are reported.
            if not (problem["type"] == "too_short" and problem["input"])
        ) from None


def _describe(problem: Any, keys: list[str]) -> str:
    """Format a pydantic error: key, value, message and, for an unknown name, the most similar one."""
    key = _format_key(problem["loc"])
    value = problem["input"]
    hint = ""
    message = problem["msg"].removeprefix("Value error, ")
    if not message.endswith((".", "?")):
        message += "."
    if problem["type"] == "extra_forbidden":
        hint = format_suggestion(re.sub(r"\[\d+]", "", key), keys)
    elif problem["type"] == "literal_error":
        hint = format_suggestion(str(value), re.findall(r"'([^']*)'", message))
    if isinstance(value, str | int | float | None):
        key = f"{key} is {format_value(value)}".strip()
    return f"{key}: {message}{hint}" if key else message + hint


def _list_keys(kind: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """List all keys of a section and its nested sections, joined by dots; <name> is an entry's name."""
    for name, field in kind.model_fields.items():
        yield prefix + name
        entry = "<name>." if get_origin(field.annotation) is dict else ""
        for inner in (field.annotation, *get_args(field.annotation)):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from _list_keys(inner, f"{prefix}{name}.{entry}")


def _format_key(path: tuple[Any, ...]) -> str:
    """Format a key with its sections and positions: a.b[0]."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")
