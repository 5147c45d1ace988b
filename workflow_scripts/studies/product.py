"""A product (a table, a figure, a page) is declared once, in its study: this says what a declaration has.

Rules, targets, the report and the list of products read the declarations. Each Snakemake of a run reads them,
so they import neither pandas nor torch, and name the modules that do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.request import Nothing, StepRequest

Kind = Literal["table", "figure", "page"]
# By kind: the folder in results, and the forms of its files.
FILES: dict[Kind, tuple[str, tuple[str, ...]]] = {
    "table": ("tables", ("csv", "md", "tex")),
    "figure": ("figures", ("pdf", "png")),
    "page": ("report", ("html",)),
}


@dataclass(frozen=True)
class RecordsOf:
    """As an input: the records of these studies that the config has measured."""

    studies: tuple[str, ...]


@dataclass(frozen=True)
class WhereMade:
    """As an input: a table, and nothing where the config does not have it made."""

    table: str


Source = str | Sequence[str] | RecordsOf | WhereMade | Callable[[Settings], str | Sequence[str]]
Sources = Mapping[str, Source]


@dataclass(frozen=True)
class Product:
    kind: Kind
    name: str
    sentence: str
    module: str  # describes a table or a figure; of a page, the function that writes it
    inputs: Sources | Callable[[Settings], Sources]
    request: Callable[[Settings], StepRequest]
    version: int  # raised when its meaning changes
    caption: str = ""
    environment: str = "reporting"  # of those in envs
    wanted: Callable[[Settings], Any] = lambda settings: True  # whether a config has it made
    study: str = ""
    target: str = ""  # that makes it with others
    chapter: str = ""  # of the report; none where it is asked for by name alone
    category: str = ""  # in Snakemake's own report

    @property
    def files(self) -> dict[str, str]:
        folder, forms = FILES[self.kind]
        return {form: f"results/{folder}/{self.name}.{form}" for form in forms}


@dataclass(frozen=True)
class Measured:
    """The records of a study, which are gathered in results/scores/<name>.parquet."""

    name: str
    records: Callable[[Settings], list[str]]
    wanted: Callable[[Settings], Any]
    study: str
    is_timed: bool = False  # never twice the same, so that results/scores.parquet leaves them out


def always(settings: Settings) -> bool:
    return True


def nothing(settings: Settings) -> StepRequest:
    return Nothing()


def records_of(*studies: str) -> RecordsOf:
    return RecordsOf(studies)


def published(*names: str) -> Callable[[Settings], list[str]]:
    """Files of resources/published."""
    return lambda settings: [settings.resource(f"published/{name}") for name in names]


def table(
    name: str,
    sentence: str,
    module: str,
    *,
    inputs: Sources | Callable[[Settings], Sources],
    request: Callable[[Settings], StepRequest] = nothing,
    version: int = 1,
    environment: str = "reporting",
) -> Product:
    return Product(
        "table", name, sentence, module, inputs, request, version, environment=environment
    )


def figure(
    name: str,
    sentence: str,
    module: str,
    *,
    of: str = "",
    inputs: Sources | None = None,
    request: Callable[[Settings], StepRequest] = nothing,
    version: int = 1,
    caption: str,
) -> Product:
    """It is drawn from one table, that of its own name or another, where it has no other inputs."""
    inputs = inputs or {"table": f"results/tables/{of or name}.csv"}
    return Product("figure", name, sentence, module, inputs, request, version, caption)


def page(
    name: str,
    sentence: str,
    function: str,
    *,
    inputs: Sources | Callable[[Settings], Sources],
    request: Callable[[Settings], StepRequest],
    version: int = 1,
    caption: str = "",
) -> Product:
    return Product("page", name, sentence, function, inputs, request, version, caption)


def products(
    study: str,
    *declared: Product,
    wanted: Callable[[Settings], Any] = always,
    target: str | None = None,
    chapter: str | None = None,
    category: str | None = None,
) -> tuple[Product, ...]:
    """Those of one study that a config has made together; target and chapter have its name, or their own."""
    return tuple(
        replace(
            one,
            wanted=wanted,
            study=study,
            target=study if target is None else target,
            chapter=study if chapter is None else chapter,
            category=category or study.capitalize(),
        )
        for one in declared
    )
