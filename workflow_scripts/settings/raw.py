"""Checks of what YAML gave, which hold at every depth and whatever the key, and then those of a section.

Keys are text and stand inside one another, nothing is listed twice, and secrets come from the
environment.
"""

import re
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import ValidationError

from workflow_scripts.settings.section import Section
from workflow_scripts.settings.sentences import Location, dotted, looks_secret, sentences, shown

_Kind = TypeVar("_Kind", bound=Section)

_SECRET_KEY = re.compile(
    r"token(?!s|iz)|passw|passphrase|secret|credential|(?:api|access|private)[_-]?key",
    re.IGNORECASE,
)
_DOTTED_KEY = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_REMEDY = "expected secrets in the environment alone, the hub's token in the variable HF_TOKEN"


def checked(kind: type[_Kind], content: dict[str, Any]) -> tuple[_Kind | None, list[str]]:
    """The section, where its content makes one, and a sentence for each problem."""
    complaints = raw_problems(content)
    said = list(complaints.values())
    try:
        return kind.model_validate(content), said
    except ValidationError as error:
        return None, said + sentences(error, kind.json_schema(), complaints)


def raw_problems(config: Any) -> dict[Location, str]:
    """A sentence for each place that breaks one of these rules."""
    return dict(_problems(config, ()))


def _problems(value: Any, location: Location) -> Iterator[tuple[Location, str]]:
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _key_problems(key, below, location)
    elif isinstance(value, list):
        for position, entry in enumerate(value):
            here = (*location, position)
            first = _first_equal(value, position)
            # Entries that are mappings are alike or not by what they mean: their section decides.
            if first < position and not isinstance(entry, dict | list):
                yield (
                    here,
                    f"{dotted(here)} is {shown(entry)}, as {dotted((*location, first))} is; expected"
                    " each entry of the list once.",
                )
            yield from _problems(entry, here)
    elif looks_secret(value):
        yield location, f"{dotted(location)} holds what looks like a secret; {_REMEDY}."


def _key_problems(key: Any, below: Any, location: Location) -> Iterator[tuple[Location, str]]:
    if not isinstance(key, str):
        where = dotted(location) or "the config"
        yield (
            (*location, key),
            f"{where} has the key {shown(key)}, which YAML reads as {type(key).__name__}; expected"
            " text, in quotes where YAML would read something else.",
        )
    elif looks_secret(key) or _SECRET_KEY.search(key):
        here = (*location, key)
        yield here, f"{dotted(here)} names a secret; {_REMEDY}."
    elif _DOTTED_KEY.fullmatch(key):
        here, nested = (*location, key), key.replace(".", ": {")
        yield (
            here,
            f"{dotted(here)} is written as one key; expected one key inside the other, as in"
            f" {nested}: ...{'}' * key.count('.')}.",
        )
    else:
        yield from _problems(below, (*location, key))


def _first_equal(entries: list, position: int) -> int:
    # repr keeps apart what Python counts as equal and YAML does not: 1, 1.0 and true.
    return next(i for i, entry in enumerate(entries) if repr(entry) == repr(entries[position]))
