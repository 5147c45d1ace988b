"""Read YAML strictly: refuse duplicate keys, aliases and deep nesting.

PyYAML keeps the last of two equal keys, and a few aliases can expand to billions of values.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from workflow_scripts.core.errors import UserError

_MAX_DIGITS = 100
_MAX_DEPTH = 100  # the C parser crashes on many thousand levels


class _Loader(yaml.CSafeLoader):
    """Refuse very long numbers and duplicate keys."""

    def construct_scalar(self, node: Any) -> Any:
        if node.tag.endswith(":int") and len(node.value) > _MAX_DIGITS:
            raise ValueError(f"it has a number of more than {_MAX_DIGITS} digits")
        return super().construct_scalar(node)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        for key, count in Counter(str(key.value) for key, _ in node.value).most_common(1):
            if count > 1:
                raise ValueError(f"it has the key {key!r} twice")
        return super().construct_mapping(node, deep)


def find_yaml_files(*folders: Path) -> dict[str, Path]:
    """Find the YAML files of folders by name; those of later folders replace others of the same name."""
    return {path.stem: path for folder in folders for path in folder.glob("*.yaml")}


def read_yaml(path: Path) -> Any:
    """Read a YAML file; a UserError describes the first problem."""
    try:
        return parse_yaml(path.read_bytes(), str(path))
    except OSError as error:
        raise UserError(f"{path} cannot be read as YAML ({error}).") from None


def parse_yaml(content: bytes, name: str) -> Any:
    """Parse YAML; `name` is the name of the file in error messages."""
    try:
        text = content.decode()
        _check_structure(text)
        return _Loader(text).get_single_data()
    except (yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{name} cannot be read as YAML ({reason}).") from None


def _check_structure(text: str) -> None:
    """Refuse aliases and deep nesting."""
    depth = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it has an alias; expected each value written out")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise ValueError(f"it is nested more than {_MAX_DEPTH} levels deep")
