"""Validate content with a pydantic model, and describe each problem in a sentence with the key and the value."""

import re
from collections.abc import Iterator
from reprlib import Repr
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from workflow_scripts.core.clean_text import plain
from workflow_scripts.core.errors import UserError, format_suggestion

Model = TypeVar("Model", bound=BaseModel)

_REPR = Repr()
_REPR.maxstring = _REPR.maxother = 80
shown = _REPR.repr  # truncates long values
_SECRET_KEY = re.compile(
    r"token(?!s|iz)|passw|passphrase|secret|credential|(?:api|access|private)[_-]?key",
    re.IGNORECASE,
)
_SECRET = re.compile(
    r"\b(?:hf|api_org)_[A-Za-z0-9]{8,}"  # Hugging Face
    r"|\bgh[opsur]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}"  # GitHub, GitLab
    r"|\bsk-[\w-]{16,}|\bAKIA[A-Z0-9]{12,}|\bxox[abps]-[\w-]{8,}"  # OpenAI and kin, AWS, Slack
    r"|://[^/@\s]+:[^/@\s]+@"  # user and password in an address
)
_REMEDY = "expected secrets in the environment alone, the hub's token in the variable HF_TOKEN."


def validate(kind: type[Model], content: Any, where: str = "", context: Any = None) -> Model:
    """Validate `content` as `kind`; a UserError has a sentence for each problem, prefixed with `where`.

    Secrets are searched first, so that no message shows one.
    """
    problems = list(_find_secrets(content))
    if not problems:
        try:
            return kind.model_validate(content, context=context)
        except ValidationError as error:
            keys = list(_list_keys(kind))
            problems = [
                _describe(problem, keys)
                for problem in error.errors(include_url=False)
                # A list may be too short only because its entries are invalid; then only the entries are reported.
                if not (problem["type"] == "too_short" and problem["input"])
            ]
    raise UserError(plain(where + problem) for problem in problems)


def _describe(problem: Any, keys: list[str]) -> str:
    """Format a pydantic error: key, value, message and, for an unknown name, the most similar one."""
    key, value, near = _format_key(problem["loc"]), problem["input"], ""
    message = problem["msg"].removeprefix("Value error, ")
    if not message.endswith((".", "?")):
        message += "."
    if problem["type"] == "extra_forbidden":
        near = format_suggestion(re.sub(r"\[\d+]", "", key), keys)
    elif problem["type"] == "literal_error":
        near = format_suggestion(str(value), re.findall(r"'([^']*)'", message))
    if isinstance(value, str | int | float | None):
        key = f"{key} is {shown(value)}".strip()
    return f"{key}: {message}{near}" if key else message + near


def _list_keys(kind: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """List all keys of a section and its nested sections, joined by dots."""
    for name, field in kind.model_fields.items():
        yield prefix + name
        for inner in (field.annotation, *get_args(field.annotation)):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from _list_keys(inner, f"{prefix}{name}.")


def _find_secrets(content: Any, path: tuple[Any, ...] = ()) -> Iterator[str]:
    """Describe each key that names a secret, and each key or value that looks like a secret."""
    if isinstance(content, dict | list):
        parts = content.items() if isinstance(content, dict) else enumerate(content)
        for name, value in parts:
            yield from _find_secrets(value, (*path, name))
        return
    key = _format_key(path)
    if _SECRET_KEY.search(key) or _SECRET.search(f"{key} {content}"):
        yield f"{_SECRET.sub('<hidden>', key)} names or holds a secret; {_REMEDY}"


def _format_key(path: tuple[Any, ...]) -> str:
    """Format a key with its sections and positions: a.b[0]."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")
