"""Flags: models of the leaderboard that stay there, marked, with a reason and a link."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.compute import Precision
from workflow_scripts.settings.section import Listed, Section
from workflow_scripts.settings.sentences import sentences, shown
from workflow_scripts.settings.yaml_files import read_yaml


class Flag(Section):
    """One entry of the file: a reason, and which rows it marks."""

    model: str = Field(min_length=1)
    """The model as its request names it."""
    precision: Precision | None = None
    """The number format it marks; null marks all of them."""
    revision: str | None = Field(
        None,
        pattern=r"^[0-9a-f]{7,40}$",
        title="a commit, or the seven or more digits it begins with",
    )
    """The commit it marks, or its beginning; null marks all of them."""
    reason: str = Field(min_length=1, max_length=500)
    """Why, in a sentence."""
    link: Annotated[
        str, Field(pattern=r"^https://\S+$", title="an address that begins with https://")
    ]
    """Where it is discussed."""


class _File(Section):
    flags: Listed[Flag] = ()


def read_flags(path: Path) -> tuple[Flag, ...]:
    """The flags of a file; a UserError has one sentence per problem."""
    raw = read_yaml(path) or []
    if not isinstance(raw, list):
        raise UserError(f"{path} is {shown(raw)}; expected a list of flags.")
    try:
        return _File.model_validate({"flags": raw}).flags
    except ValidationError as error:
        raise UserError(f"{path}: {one}" for one in sentences(error, _File.json_schema())) from None
