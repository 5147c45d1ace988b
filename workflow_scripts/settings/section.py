"""What the sections of the config have in common, and how their checks speak."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticCustomError


class Section(BaseModel):
    """Nothing unknown, nothing coerced, and defaults are checked like what a user writes."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        revalidate_instances="always",
    )

    @classmethod
    def part_of(cls, whole: "Section") -> Self:
        """These keys alone of a section that has more: a step is told what it uses and nothing else."""
        return cls(**{name: getattr(whole, name) for name in cls.model_fields})

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON schema, with a title only where a type was given one in words."""
        return cls.model_json_schema(schema_generator=_Untitled)


class _Untitled(GenerateJsonSchema):
    """Without the titles pydantic derives from names, which say nothing new."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: Any) -> dict[str, Any]:
        made = super().model_schema(schema)
        made.pop("title", None)
        return made


def unlike(expected: str) -> PydanticCustomError:
    """For a value that is not as expected; it becomes '<key> is <value>; expected <expected>.'"""
    return PydanticCustomError("unlike", "{text}", {"text": expected})


def contradiction(sentence: str) -> PydanticCustomError:
    """For values that do not go together; it becomes '<key>: <sentence>'."""
    return PydanticCustomError("contradiction", "{text}", {"text": sentence})
