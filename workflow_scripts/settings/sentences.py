"""From what pydantic found to sentences a person can act on.

What was expected is read from the JSON schema, so that a field's range stands in one place. A value
is shown as one would write it in YAML; one that looks like a secret is never shown.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from fnmatch import fnmatchcase
from typing import Any

from pydantic import ValidationError

from workflow_scripts.core.errors import did_you_mean

Location = tuple[int | str, ...]
Schema = Mapping[str, Any]

_LONGEST = 80
_NOT_TEXT = ("int_type", "float_type", "bool_type")
# Keys of older configs: since which version they are gone, and what is in their place.
_ONE_NODE = "0.1.0; expected gpus of one node"
_REMOVED = {
    "chunking.measures.precisions": "0.1.0; expected compute.dtype",
    "chunking.search": "0.1.0; expected nothing in its place",
    "harmony.budget": "0.1.0; config/harmony_lite.yaml lists the tasks that a small budget pays for",
    "harmony.stop": "0.1.0; expected nothing in its place",
    "harmony.together": "0.1.0; each training is by itself",
    "harmony.test_draw": "0.1.0; expected harmony.draws, which decides all four draws",
    "harmony.recipes.*.nodes": _ONE_NODE,
    "*.recipes.*.keep_last": "0.1.0; expected select: last for the last state",
    "*.recipes.*.sharded": "0.1.0; a model that is trained fits one GPU",
    "*.recipes.*.tensorboard": "0.1.0; the training record has the curve",
    "training.recovery": "0.1.0; expected training.cpt, a recipe",
    "training.recovery_tokens": "0.1.0; expected training.cpt_tokens",
    "training.recipes.*.nodes": _ONE_NODE,
    "served.*.check": "0.1.0; expected nothing in its place",
    "served.*.key_variable": "0.1.0; expected the key in the environment variable OPENAI_API_KEY",
    "suite.shown_items": "0.1.0; the items of a row lie beside its records",
}
_SECRET = re.compile(
    r"\b(?:hf|api_org)_[A-Za-z0-9]{8,}"  # Hugging Face
    r"|\bgh[opsur]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}"  # GitHub, GitLab
    r"|\bsk-[\w-]{16,}|\bAKIA[A-Z0-9]{12,}|\bxox[abps]-[\w-]{8,}"  # OpenAI and kin, AWS, Slack
    r"|://[^/@\s]+:[^/@\s]+@"  # user and password in an address
)


def looks_secret(value: object) -> bool:
    return isinstance(value, str) and _SECRET.search(value) is not None


def shown(value: object) -> str:
    """A value as it would be written in YAML, on one line; collections by their kind alone."""
    if looks_secret(value):
        return "what looks like a secret"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else value[:_LONGEST] + "…")
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return str(value) if isinstance(value, int | float | date) else f"a {type(value).__name__}"


def dotted(location: Iterable[int | str]) -> str:
    """`harmony.models[1]`; positions in a list count from 0, as everywhere in YAML paths."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{_key(part)}" if text else _key(part)
    return text


def _key(name: str) -> str:
    if looks_secret(name):
        return "<hidden>"
    return name if re.fullmatch(r"[\w-]+", name) else shown(name)


def listed(words: Iterable[object], last: str = "and") -> str:
    *first, final = map(str, words)
    return f"{', '.join(first)} {last} {final}" if first else final


def hint(word: str, known: Iterable[str]) -> str:
    """' (did you mean ...?)' with the nearest known name, or nothing when none is near."""
    question = did_you_mean(word, known).strip()
    return f" ({question[0].lower()}{question[1:]})" if question else ""


def expectation(schema: Schema, definitions: Schema) -> str:
    """What a part of a JSON schema allows, in words."""
    if "title" in schema:
        return schema["title"]
    if "$ref" in schema:
        return expectation(_resolved(schema, definitions), definitions)
    if "anyOf" in schema:
        return ", or ".join(expectation(part, definitions) for part in schema["anyOf"])
    if "enum" in schema:
        return f"one of {listed(map(repr, schema['enum']), 'or')}"
    match schema["type"]:
        case "integer" | "number":
            return _number(schema)
        case "array":
            items = expectation(schema["items"], definitions)
            least = " of at least one entry" if schema.get("minItems") else ""
            return f"a list{least}, each {items}"
        case "object":
            if "properties" not in schema:  # the names are the user's
                return f"a mapping of names, each to {expectation(schema['additionalProperties'], definitions)}"
            keys = schema["properties"]
            return f"a mapping with the key{'s' if len(keys) > 1 else ''} {listed(keys)}"
        case "string":
            return "text that is not empty" if schema.get("minLength") else "text"
        case kind:
            return {"boolean": "true or false", "null": "null"}[kind]


def sentences(error: ValidationError, schema: Schema, said: Iterable[Location] = ()) -> list[str]:
    """One sentence per problem, but for those at or below a place that was complained about."""
    said = set(said)
    return [
        _sentence(problem, schema)
        for problem in error.errors(include_url=False)
        if not _is_echo(problem)
        and not any(problem["loc"][:depth] in said for depth in range(len(problem["loc"]) + 1))
    ]


def _is_echo(problem: Mapping[str, Any]) -> bool:
    """Keys that are no text are named by the checks of the raw config; a list that is too short only
    because its entries are wrong is named by its entries."""
    return problem["type"] == "invalid_key" or (
        problem["type"] == "too_short" and len(problem["input"]) > 0
    )


def _sentence(problem: Mapping[str, Any], schema: Schema) -> str:
    location, value = problem["loc"], problem["input"]
    key, kind = dotted(location), problem["type"]
    if kind == "contradiction":
        return f"{key}: {problem['ctx']['text']}"
    if kind == "unlike":
        return f"{key} is {shown(value)}; expected {problem['ctx']['text']}."
    for removed, instead in _REMOVED.items():
        if fnmatchcase(key, removed):
            return f"{key} is {shown(value)}, which was removed in {instead}."
    if kind == "extra_forbidden":
        keys = _resolved(_at(schema, location[:-1]), schema.get("$defs", {}))["properties"]
        return (
            f"{key} is {shown(value)}, but {dotted(location[:-1]) or 'the config'} has no such key;"
            f" expected {listed(keys, 'or')}{_moved(schema, location[-1]) or hint(location[-1], keys)}."
        )
    part = _at(schema, location)
    expected = expectation(part, schema.get("$defs", {}))
    if kind == "missing":
        return f"{key} is missing; expected {expected}."
    nearest = hint(value, part.get("enum", ())) if isinstance(value, str) else ""
    # Quotes alone are easily overlooked where '4' is refused and 4 is expected.
    text = "the text " if isinstance(value, str) and kind in _NOT_TEXT else ""
    # YAML 1.1 takes 1e-4 for text, which nobody expects.
    exponent = re.fullmatch(r"(\d+)(?:\.\d*)?e([+-]?)(\d+)", value, re.I) if text else None
    written = ""
    if exponent:
        written = f", written {exponent[1]}.0e{exponent[2] or '+'}{exponent[3]} in YAML"
    return f"{key} is {text}{shown(value)}; expected {expected}{written}{nearest}."


def _moved(schema: Schema, name: str) -> str:
    """A hint at the section that has a key of this very name, written in the wrong place."""
    for section, part in schema["properties"].items():
        if name in _resolved(part, schema.get("$defs", {})).get("properties", {}):
            return f" (did you mean {section + '.' + name!r}?)"
    return ""


def _at(schema: Schema, location: Location) -> Schema:
    definitions = schema.get("$defs", {})
    part = schema
    for step in location:
        part = _resolved(part, definitions)
        if isinstance(step, int):
            part = part["items"]
        else:
            part = (
                part["properties"][step] if "properties" in part else part["additionalProperties"]
            )
    return part


def _resolved(part: Schema, definitions: Schema) -> Schema:
    """Behind a reference; and of a section or list that may be null, the section or list."""
    for branch in part.get("anyOf", [part]):
        if "$ref" in branch:
            return definitions[branch["$ref"].rsplit("/", 1)[-1]]
        if branch["type"] == "array":
            return branch
    return part


def _number(schema: Schema) -> str:
    kind = "a whole number" if schema["type"] == "integer" else "a number"
    least, most, above = (schema.get(k) for k in ("minimum", "maximum", "exclusiveMinimum"))
    if least is not None and most is not None:
        return f"{kind} from {least} to {most}"
    if least is not None:
        below = schema.get("exclusiveMaximum")
        return f"{kind} of at least {least}" + (f" and below {below}" if below is not None else "")
    if above is not None:
        return f"{kind} above {above}" + (f" and at most {most}" if most is not None else "")
    return kind
