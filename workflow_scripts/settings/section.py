"""Define the base class of all config sections and their field types."""

from collections.abc import Iterator
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

_Item = TypeVar("_Item")


def refuse_repeated(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse duplicate names or numbers in a list."""
    for item in items:
        if isinstance(item, str | int | float) and items.count(item) > 1:
            raise ValueError(f"{item!r} is listed twice")
    return items


# A list in YAML, stored as a tuple because sections are frozen.
Listed = Annotated[tuple[_Item, ...], Field(strict=False), AfterValidator(refuse_repeated)]

Count = Annotated[int, Field(ge=1)]
NonNegative = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
NonEmptyText = Annotated[str, Field(min_length=1)]


def _fix_dtype(dtype: str, info: ValidationInfo) -> str:
    """Replace auto in the demo, which gives equal numbers on all machines."""
    is_demo = info.context is not None and info.context.source == "miniature"
    return "float32" if is_demo and dtype == "auto" else dtype


DemoDtype = AfterValidator(_fix_dtype)


class Section(BaseModel):
    """A section of the config: no unknown keys, no coercion, defaults validated like user values."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        revalidate_instances="always",
        use_attribute_docstrings=True,
        defer_build=True,  # build the validator once, as part of the enclosing section
    )

    def find_contradictions(self) -> Iterator[str]:
        """Yield a sentence for each contradiction between values of the section."""
        yield from ()

    @model_validator(mode="after")
    def _check_contradictions(self) -> Self:
        if problems := list(self.find_contradictions()):
            raise ValueError(" ".join(problems))
        return self

    @classmethod
    def select_fields(cls, section: "Section") -> Self:
        """Build this section from a larger one, so that a job gets only the keys that it uses."""
        return cls(**{name: getattr(section, name) for name in cls.model_fields})
