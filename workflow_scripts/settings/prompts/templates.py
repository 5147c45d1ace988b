"""Jinja2 templates of prompts: sandboxed, small, and with every name known.

A run's file may come from anybody. Jinja2's sandbox keeps a template from Python's insides, but not
from filling the memory or never ending, so of the language only what a prompt needs is let in: names,
their parts, conditions, loops over what is there, and a few filters. Nothing of that multiplies.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

_DEEPEST_LOOP = 2
_LONGEST = 100_000  # characters of a template
_FILTERS = (
    "capitalize",
    "first",
    "join",
    "last",
    "length",
    "lower",
    "spaced",
    "tojson",
    "trim",
    "upper",
)
_NODES = {
    "Template", "Output", "TemplateData", "Name", "Const", "Getattr", "Getitem", "For", "If",
    "CondExpr", "Compare", "Operand", "And", "Or", "Not", "Filter", "Concat", "List", "Tuple",
    "Dict", "Pair",
}  # fmt: skip
_WORDS = {
    "Call": "a call",
    "Mul": "a multiplication",
    "Pow": "a power",
    "Mod": "the operator %",
    "Assign": "a set statement",
    "Macro": "a macro",
    "Include": "an include",
    "Import": "an import",
    "FromImport": "an import",
    "Extends": "an extends statement",
    "Slice": "a slice",
    "Test": "a test with is",
}


class TemplateError(ValueError):
    """What is wrong with a template, in words that follow its key."""


def render(template: str, values: Mapping[str, Any]) -> str:
    """The text of a template; a name that is not among the values is an error."""
    from jinja2 import TemplateError as JinjaError
    from jinja2 import UndefinedError

    from workflow_scripts.core.errors import did_you_mean

    compiled, names = _compiled(template)
    if unknown := sorted(names - set(values)):
        hint = did_you_mean(unknown[0], values)
        raise TemplateError(
            f"uses the name {unknown[0]!r}, which is not defined here; expected"
            f" {', '.join(sorted(values))}.{hint}"
        )
    try:
        return compiled.render(values)
    except UndefinedError as error:
        raise TemplateError(
            f"uses something that is not defined ({error}); expected what a question or a shot has."
        ) from None
    except (JinjaError, TypeError, ValueError, RecursionError, OverflowError) as error:
        problem = str(error).rstrip(".")
        raise TemplateError(
            f"cannot be rendered ({problem}); expected it to give a text."
        ) from None


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
    except RecursionError:
        raise TemplateError("is nested too deeply; expected a plain template.") from None


@cache
def _environment():
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
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
    return json.dumps(value, ensure_ascii=False)


def _join(values: list, between: str = "") -> str:
    if isinstance(values, str):
        raise TypeError("join is for lists")
    return between.join(map(str, values))


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _check(node, loops: int) -> None:
    """Refuse what a prompt does not need."""
    kind = type(node).__name__
    if kind not in _NODES:
        raise TemplateError(
            f"holds {_WORDS.get(kind, kind)} (line {node.lineno}), which templates of prompts may"
            " not; expected names, if, for and simple filters."
        )
    if kind == "Getattr" and node.attr.startswith("_"):
        raise TemplateError(
            f"asks for {node.attr!r} (line {node.lineno}), which begins with an underscore; expected"
            " the parts of a question or a shot."
        )
    if kind == "Filter" and node.name not in _FILTERS:
        from workflow_scripts.core.errors import did_you_mean

        raise TemplateError(
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
