"""A product (a table, a figure, a page) is declared once, in its study: this says what a declaration has.

Rules, targets, the report and the list of products read the declarations. Each Snakemake of a run reads them,
so they import neither pandas nor torch, and name the modules that do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
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
    inputs: Sources | Callable[[Settings], Sources] = field(default_factory=dict)
    of: str = ""  # the table that a figure is drawn from, where that has another name
    request: Callable[[Settings], StepRequest] = lambda settings: Nothing()
    version: int = 1  # raised when its meaning changes
    caption: str = ""
    # The same of all that are declared together.
    wanted: Callable[[Settings], Any] = lambda settings: True  # whether a config has it made
    study: str = ""
    target: str = ""  # that makes it with others
    chapter: str = ""  # of the report; none where it is asked for by name alone
    category: str = ""  # in Snakemake's own report

    @property
    def files(self) -> dict[str, str]:
        folder, forms = FILES[self.kind]
        return {form: f"results/{folder}/{self.name}.{form}" for form in forms}

    def sources(self, settings: Settings) -> Sources:
        """What it is made from, by what its step calls that: a figure from a table, where nothing else is said."""
        table = {"table": f"results/tables/{self.of or self.name}.csv"}
        declared = self.inputs(settings) if callable(self.inputs) else self.inputs
        return declared or table


table, figure, page = (partial(Product, kind) for kind in FILES)


@dataclass(frozen=True)
class MeasuredStudy:
    """The records of a study, which are gathered in results/scores/<name>.parquet."""

    name: str
    records: Callable[[Settings], list[str]]
    wanted: Callable[[Settings], Any]
    study: str
    is_timed: bool = False  # never twice the same, so that results/scores.parquet leaves them out


def records_of(*studies: str) -> RecordsOf:
    return RecordsOf(studies)


def import_folders(settings: Settings) -> list[str]:
    """What was read of other people's harnesses."""
    return [f"results/imports/{name}" for name in settings.import_folders]


def published(*names: str) -> Callable[[Settings], list[str]]:
    """Files of resources/published."""
    return lambda settings: [settings.resource(f"published/{name}") for name in names]


def products(
    study: str, *declared: Product, chapter: str | None = None, **same: Any
) -> tuple[Product, ...]:
    """Those of a study that a config has made together; target, chapter and category have its name, or their own."""
    named = {"study": study, "target": study, "category": study.capitalize()}
    named["chapter"] = study if chapter is None else chapter
    return tuple(replace(one, **(named | same)) for one in declared)
