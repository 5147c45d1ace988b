"""The published protocols, as resources/published/protocols.yaml has them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.records import StrictModel

Value = bool | int | float | str | list[str] | None
YES, NO = "yes", "no"


class Fact(StrictModel):
    """One thing that a publication did, or several of one kind."""

    what: str
    is_: Value = Field(None, alias="is")
    each: dict[str, Value] = Field({}, description="Several, by the keys of the config")
    differing: dict[str, Value] = Field({}, description="Otherwise for these tasks, runs or models")
    only: tuple[str, ...] = Field((), strict=False, description="Tasks or runs; all if empty")
    after_training: bool = False
    known_from: str
    decides: bool = Field(True, description="Whether a score under something else is another's")
    because: str | None = None
    not_measured: str | None = Field(None, description="Why no record of a run can say it")

    @model_validator(mode="after")
    def _says_why_it_does_not_decide(self) -> Self:
        if self.decides == (self.because is not None):
            raise ValueError(
                f"{self.what}: `because` belongs to what does not decide, and only to it"
            )
        if self.decides and self.not_measured:
            raise ValueError(f"{self.what}: what is not measured decides nothing")
        return self

    def of(self, model: str, item: str | None) -> Iterator[tuple[str, Value]]:
        """What it was for this model and task or run, by its name; nothing where it does not concern them."""
        if self.only and item not in self.only:
            return
        if self.each:
            yield from ((f"{self.what}: {key}", value) for key, value in self.each.items())
            return
        for name, value in self.differing.items():
            if name == item or model.startswith(name):
                yield self.what, value
                return
        yield self.what, self.is_


class PublishedProtocol(StrictModel):
    sources: tuple[str, ...] = Field(description="The tables of scores that came of it")
    facts: tuple[Fact, ...]


def read_protocols(path: Path) -> dict[str, PublishedProtocol]:
    """By study."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return {study: PublishedProtocol.model_validate(one) for study, one in content.items()}
    except (OSError, AttributeError, yaml.YAMLError, ValidationError) as error:
        raise UserError(f"{path} is not a table of published protocols: {error}") from None


def in_words(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
