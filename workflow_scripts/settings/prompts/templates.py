"""Render Jinja2 templates of prompts in Jinja2's sandbox: a run's file may be untrusted."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any


class TemplateError(ValueError):
    """Describe what is wrong with a template, in words that follow its key."""


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill in a template; a name that is not among the values is an error."""
    from jinja2 import TemplateError as JinjaError

    try:
        return _compile(template).render(values)
    except (JinjaError, TypeError, ValueError, RecursionError, ArithmeticError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise TemplateError(
            f"is a template that cannot be rendered ({reason}); expected a Jinja2 template with the names"
            f" {', '.join(sorted(values))}."
        ) from None


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
    # Jinja2's own escapes apostrophes for HTML.
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(template)
