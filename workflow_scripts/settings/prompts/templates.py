"""Render prompt templates in Jinja2's sandbox, because the file of a run may be untrusted."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any


def render(template: str, values: Mapping[str, Any]) -> str:
    """Render a template; a ValueError describes the problem in words that follow the template's key."""
    from jinja2 import TemplateError

    try:
        return _compile(template).render(values)
    except (TemplateError, TypeError, ValueError, RecursionError, ArithmeticError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
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
    # Jinja2's tojson escapes apostrophes for HTML.
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(template)
