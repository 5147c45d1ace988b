"""Jinja2 templates of prompts: sandboxed, small, and with every name known.

A run's file may come from anybody. Jinja2's sandbox keeps a template from Python's insides, and here
from calls and from operators that multiply. What it has no hook for are a few lines that grow by
doubling or never end: variables, loops inside loops, a text that is escaped again and again. These are
looked for by hand, and nothing else is.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from workflow_scripts.core.errors import did_you_mean

_DEEPEST_LOOP = 2
_LONGEST = 20_000  # characters of a template
_LONGEST_TEXT = 2_000_000  # characters of what one gives
_FILTERS = (
    *("capitalize", "first", "join", "last", "length"),
    *("lower", "spaced", "tojson", "trim", "upper"),
)
# A variable may hold itself twice, and the next one that: sixty lines would fill any memory.
_KEEPING = {
    "Assign": "a set statement",
    "AssignBlock": "a set statement",
    "With": "a with statement",
}


class TemplateError(ValueError):
    """What is wrong with a template, in words that follow its key."""


def render(template: str, values: Mapping[str, Any]) -> str:
    """The text of a template; a name that is not among the values is an error."""
    from jinja2 import TemplateError as JinjaError
    from jinja2 import UndefinedError

    compiled, names = _compiled(template)
    if unknown := sorted(names - set(values)):
        hint = did_you_mean(unknown[0], values)
        raise TemplateError(
            f"uses the name {unknown[0]!r}, which is not defined here; expected"
            f" {', '.join(sorted(values))}.{hint}"
        )
    try:
        return _bounded(compiled.generate(values))
    except UndefinedError as error:
        raise TemplateError(
            f"uses something that is not defined ({error}); expected what a question or a shot has."
        ) from None
    except (JinjaError, TypeError, ValueError, RecursionError, ArithmeticError) as error:
        problem = str(error).rstrip(".")
        raise TemplateError(
            f"cannot be rendered ({problem}); expected it to give a text."
        ) from None


def _bounded(pieces: Iterator[str]) -> str:
    text, length = [], 0
    for piece in pieces:
        text.append(piece)
        length += len(piece)
        if length > _LONGEST_TEXT:
            raise ValueError(f"it gives more than {_LONGEST_TEXT:,} characters")
    return "".join(text)


def template_problem(template: str, values: Mapping[str, Any]) -> str | None:
    """What is wrong with a template, tried on an example; the words follow its key."""
    try:
        text = render(template, values)
    except TemplateError as error:
        return str(error)
    if not text.strip():
        return "is a template that gives no text; expected it to give some."
    return None


@cache
def _compiled(template: str):
    from jinja2 import TemplateSyntaxError, meta

    if len(template) > _LONGEST:
        raise TemplateError(
            f"has {len(template)} characters; expected a template of at most {_LONGEST}."
        )
    environment = _environment()
    try:
        tree = environment.parse(template)
        _check(tree, 0)
        return environment.from_string(tree), meta.find_undeclared_variables(tree)
    except TemplateSyntaxError as error:
        raise TemplateError(
            f"is no Jinja2 template (line {error.lineno}: {str(error.message).rstrip('.')});"
            " expected one."
        ) from None
    except (RecursionError, SyntaxError, MemoryError):  # Jinja2's own code, or Python's compiler
        raise TemplateError("is nested too deeply; expected a plain template.") from None


@cache
def _environment():
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment, SecurityError

    class Environment(ImmutableSandboxedEnvironment):
        """What a prompt needs calls nothing and multiplies nothing."""

        intercepted_binops = frozenset(("*", "**", "%"))

        def call_binop(self, context, operator, left, right):
            raise SecurityError(f"the operator {operator} may not stand in a prompt")

        def call(self, context, called, /, *args, **kwargs):
            raise SecurityError("a call may not stand in a prompt")

    environment = Environment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.globals.clear()
    # Jinja2's own escapes apostrophes for HTML, and joins the letters of a text.
    environment.filters |= {"tojson": _tojson, "join": _join, "spaced": _spaced}
    environment.filters = {name: environment.filters[name] for name in _FILTERS}
    return environment


def _tojson(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > _LONGEST_TEXT:  # each escape of an escape is twice as long
        raise ValueError(f"tojson gives more than {_LONGEST_TEXT:,} characters")
    return text


def _join(values: list, between: str = "") -> str:
    if isinstance(values, str):
        raise TypeError("join is for lists")
    return between.join(map(str, values))


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _check(node, loops: int) -> None:
    """Refuse what the sandbox lets through and what would not end, or fill the memory."""
    kind = type(node).__name__
    if kind in _KEEPING:
        raise TemplateError(
            f"holds {_KEEPING[kind]} (line {node.lineno}), which templates of prompts may not; expected"
            " names, if, for and simple filters."
        )
    if kind == "Filter" and node.name not in _FILTERS:
        raise TemplateError(  # as Jinja2 says too, but not which there are, nor of what is left out
            f"has the filter {node.name!r} (line {node.lineno}); expected one of"
            f" {', '.join(_FILTERS)}.{did_you_mean(node.name, _FILTERS)}"
        )
    loops += kind == "For"
    if loops > _DEEPEST_LOOP:
        raise TemplateError(
            f"has more than {_DEEPEST_LOOP} loops inside one another (line {node.lineno}); expected"
            " fewer."
        )
    for child in node.iter_child_nodes():
        _check(child, loops)
