"""Render prompt templates in Jinja2's sandbox, because the file of a run may be untrusted."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator

from workflow_scripts.settings.section import NonEmptyText

_MAX_SHOTS = 285
# Example values of all variables of templates, to check that a template renders.
_EXAMPLE: dict[str, Any] = {
    "question": "What is 1 + 1?",
    "choices": "['1', '2', '3', '4']",
    "choice_list": ["1", "2", "3", "4"],
    "subject": "elementary_mathematics",
    "prompt": "What is 1 + 1?",
    "prompts": ["What is 1 + 1?"],
    "letter": "B",
    "answer": "2",
}


def render(template: str, values: Mapping[str, Any]) -> str:
    """Render a template; raise ValueError if it cannot be rendered."""
    from jinja2 import TemplateError

    try:
        return _compile(template).render(values)
    except (TemplateError, TypeError, ValueError, RecursionError, ArithmeticError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
            f"it cannot be rendered ({reason}); expected a Jinja2 template with the names"
            f" {', '.join(sorted(values))}."
        ) from None


def _check_template(template: str) -> str:
    """Raise ValueError if a template cannot be rendered on an example."""
    shots = [_EXAMPLE] * _MAX_SHOTS
    render(template, _EXAMPLE | {"shot": _EXAMPLE, "shots": shots})
    return template


Template = Annotated[NonEmptyText, AfterValidator(_check_template)]


@cache
def _compile(template: str):
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    # Jinja2's tojson escapes apostrophes for HTML.
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(template)
