"""Read the flags: leaderboard rows that are marked with a reason and a link, but stay on the leaderboard."""

from pathlib import Path

from pydantic import Field

from workflow_scripts.settings.error_messages import validate
from workflow_scripts.settings.section import Listed, NonEmptyText, Section
from workflow_scripts.settings.yaml_files import read_yaml


class Flag(Section):
    """An entry of the file: the model whose rows are flagged, and the reason."""

    model: NonEmptyText
    """The model as its request names it."""
    reason: str = Field(min_length=1, max_length=500)
    """Why, in a sentence."""
    link: str = Field(pattern=r"^https://\S+$")
    """Where it is discussed."""


class _File(Section):
    flags: Listed[Flag]


def read_flags(path: Path) -> tuple[Flag, ...]:
    """Read the flags of a file; a UserError has one sentence per problem."""
    return validate(_File, {"flags": read_yaml(path) or []}, f"{path}: ").flags
