"""What the sections of the config have in common, and how their checks speak."""

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticCustomError

_One = TypeVar("_One")
# As YAML writes it, a list; as a frozen section keeps it, a tuple.
Listed = Annotated[tuple[_One, ...], Field(strict=False)]


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

    def contradictions(self) -> Iterator[str]:
        """A sentence for each of its values that do not go together, of which the first is told."""
        yield from ()

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        for sentence in self.contradictions():
            raise contradiction(sentence)
        return self

    @classmethod
    def part_of(cls, whole: "Section") -> Self:
        """These keys alone of a section that has more: a step is told what it uses and nothing else."""
        return cls(**{name: getattr(whole, name) for name in cls.model_fields})

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON schema, with a title only where a type was given one in words."""
        return cls.model_json_schema(schema_generator=_Described)

    @classmethod
    def descriptions(cls) -> dict[str, str]:
        """What the string below each field says.

        It is read from the source when somebody asks: pydantic would read it whenever a job starts.
        """
        found = {}
        for kind in reversed(cls.__mro__):
            if issubclass(kind, Section):
                [written] = ast.parse(inspect.getsource(kind)).body
                assert isinstance(written, ast.ClassDef)
                for field, said in pairwise(written.body):
                    match field, said:
                        case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                            found[name] = " ".join(text.split())
        return found


class _Described(GenerateJsonSchema):
    """With what fields say of themselves, and without the titles pydantic derives from their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: Any) -> dict[str, Any]:
        made = super().model_schema(schema)
        made.pop("title", None)
        for name, text in schema["cls"].descriptions().items():
            made["properties"][name]["description"] = text
        return made


def unlike(expected: str) -> PydanticCustomError:
    """For a value that is not as expected; it becomes '<key> is <value>; expected <expected>.'"""
    return PydanticCustomError("unlike", "{text}", {"text": expected})


def contradiction(sentence: str) -> PydanticCustomError:
    """For values that do not go together; it becomes '<key>: <sentence>'."""
    return PydanticCustomError("contradiction", "{text}", {"text": sentence})
