"""YAML read strictly: one meaning, no surprises, and nothing that grows when it is read.

YAML takes the last of two equal keys and says nothing, makes objects of tags, and lets a few lines of
anchors stand for billions of values. None of it is of use in a config.
"""

import re
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError

_LARGEST = 1_000_000  # bytes
_DEEPEST = 50
# 59:59:59 is a number too, in base 60.
_LONG_NUMBER = re.compile(r"[-+]?\d[\d_.:]{100,}|[-+]?0[xb][\da-fA-F_]{100,}")


def read_yaml(path: Path) -> Any:
    """The content of a file; a UserError says in one sentence where it is not plain YAML."""
    try:
        return parse_yaml(path.read_bytes(), str(path))
    except OSError as error:
        raise UserError(f"{path} cannot be read as YAML ({error}).") from None


def parse_yaml(content: bytes, name: str) -> Any:
    """`name` is what the sentences call it."""
    import yaml

    try:
        text = content.decode()
        refuse_surprises(text)
        return yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{name} cannot be read as YAML ({reason}).") from None
    except UserError as error:
        raise UserError(f"{name}: {problem}" for problem in error.problems) from None


def refuse_surprises(text: str) -> None:
    """Look at the tokens alone, before anything is made of them."""
    import yaml

    if len(text) > _LARGEST:
        raise UserError(f"has {len(text):,} characters; expected at most {_LARGEST:,}.")
    problems = []
    stack: list[_Level] = []
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            problems.append(
                f"line {line}: {'&' if not isinstance(event, yaml.AliasEvent) else '*'}{event.anchor}"
                " is an anchor; expected each value written out."
            )
            break
        plain = isinstance(event, yaml.ScalarEvent) and event.implicit[0]
        if plain and _LONG_NUMBER.fullmatch(event.value):
            problems.append(f"line {line}: a number of {len(event.value):,} signs; expected fewer.")
            break
        if getattr(event, "tag", None):
            problems.append(f"line {line}: {event.tag} is a tag; expected plain values.")
            break
        if isinstance(event, yaml.NodeEvent) and stack:
            problems += stack[-1].takes(event, line)
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append(_Level(isinstance(event, yaml.MappingStartEvent)))
            if len(stack) > _DEEPEST:
                raise ValueError(f"line {line} is nested more than {_DEEPEST} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
    if problems:
        raise UserError(problems)


class _Level:
    """A mapping or a list that is being read."""

    def __init__(self, mapping: bool):
        self._mapping, self._is_key = mapping, True
        self._seen: dict[str, int] = {}

    def takes(self, event: Any, line: int) -> list[str]:
        """What is wrong with the next of its nodes: a key that stood here before."""
        if not self._mapping:
            return []
        was_key, self._is_key = self._is_key, not self._is_key
        key = getattr(event, "value", None)
        if not was_key or key is None:
            return []
        if key in self._seen:
            return [
                f"line {line}: the key {key!r} stands here a second time (first in line"
                f" {self._seen[key]}), and YAML would drop the first; expected it once."
            ]
        self._seen[key] = line
        return []
