"""Read the grids: scores of models x tasks x protocols, each described by a file in config/grids."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from workflow_scripts.core.errors import UserError, format_suggestion
from workflow_scripts.settings.error_messages import validate
from workflow_scripts.settings.names import ROOT, locate_file
from workflow_scripts.settings.section import Count, Listed, NonEmptyText, Section
from workflow_scripts.settings.yaml_files import find_yaml_files, read_yaml

FOLDER = "config/grids"
# Correlation of two models' correct answers by task, for grids without items.
CORRELATIONS = "resources/published/items/correlations.csv"
OWN_GRID, PUBLISHED_GRID = "own", "published"
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Attribute = Literal["family", "kind", "parameters_billion", "tokens_billion", "date"]


class GridProtocol(Section):
    """A protocol under which models were scored."""

    name: NonEmptyText
    """Name in tables and figures"""
    after_training: bool = False
    """Whether each model was trained before it was tested"""
    clipped_by: Name | None = None
    """Another protocol, whose score replaces this protocol's if it is higher"""
    scores_of: Name | None = None
    """The protocol whose scores are clipped, if this protocol has no scores of its own"""
    in_figures: bool = True
    """Whether figures show the protocol; tables always do"""


class GridTask(Section):
    """A task that the tasks table lacks, or has with another metric than these scores."""

    name: NonEmptyText
    """Name in tables and figures"""
    metric: NonEmptyText
    """The reported metric; others are dropped"""


class GridAttributes(Section):
    """Attributes of the models, in a table with a row per model and the column `model`."""

    file: NonEmptyText
    """Path of the file, a CSV, or a TSV if its name ends in .tsv"""
    columns: dict[Attribute, NonEmptyText]
    """Name of each attribute's column in the file"""


class GridRelease(Section):
    """A second release of the same scores, in the format of the published leaderboard."""

    file: NonEmptyText
    """Path of the wide CSV file with scores in percent"""
    name: NonEmptyText
    """Name in tables"""
    about: NonEmptyText
    """A sentence on the difference from the first release"""
    protocol: Name
    """Protocol under which its scores were measured"""


class GridNewer(Section):
    """Settings of the comparison of newer and older models at the same compute."""

    since: str = Field(pattern=r"^\d{4}-\d{2}$")
    """The month, such as 2023-11 in quotation marks, from which on a model counts as newer"""
    chance: dict[str, float]
    """Score of a model without any knowledge, by task"""
    printed: dict[str, dict[str, float]] = Field({})
    """Published advantage of newer models, by protocol and task"""


class GridFile(Section):
    """A file in config/grids; all other tasks and models are those of the tables."""

    title: str = ""
    """Prefix of the titles of its tables"""
    files: Name | None = None
    """Prefix of the names of its results; by default the grid's name"""
    run: bool = False
    """Whether it has the scores of this run and imported ones"""
    scores: Listed[NonEmptyText] = ()
    """CSV files with the columns of harmony.imported_scores"""
    protocols: dict[Name, GridProtocol] = Field(min_length=1)
    """Protocols in the order of tables; the others are compared with the first"""
    models: Count | None = None
    """Expected number of models, if known"""
    categories: dict[str, Listed[Name]] = Field({})
    """Tasks by category, in the order of tables; by default those of the tasks table"""
    tasks: dict[Name, GridTask] = Field({})
    """Tasks that the tasks table lacks, or has with another metric"""
    attributes: GridAttributes | None = None
    """Attributes of the models"""
    measures: Listed[Literal["kendall", "pearson"]] = ("kendall",)
    """Measures of the agreement of two tasks"""
    families: Listed[NonEmptyText] = ()
    """Families whose principal components are computed separately"""
    pair: Listed[Name] = ()
    """Two tasks whose rankings are compared in a table"""
    texts: dict[Name, NonEmptyText] = Field({})
    """Display names of the texts with bits per byte"""
    about_texts: str = "texts"
    """What the texts are, as a phrase within sentences"""
    lacking_texts: str = ""
    """Models without bits per byte"""
    kinds: Listed[Literal["base", "instruct"]] = ()
    """Kinds of models for which bits per byte before training are compared with scores after it"""
    release: GridRelease | None = None
    """A second release of the same scores"""
    newer: GridNewer | None = None
    """Comparison of newer and older models at the same compute"""
    in_report: bool = True
    """Whether the report shows the grid; otherwise its tables and figures are made on request
    only"""

    def find_contradictions(self) -> Iterator[str]:
        if self.run == bool(self.scores):
            yield "expected either run: true, or files of scores."
        for protocol in self.protocols.values():
            for name in (protocol.clipped_by, protocol.scores_of):
                if name and name not in self.protocols:
                    near = format_suggestion(name, self.protocols)
                    yield f"{name!r} is named; expected one of protocols.{near}"

    @property
    def reference_protocol(self) -> str:
        """Return the protocol that the others are compared with, the first one."""
        return next(iter(self.protocols))

    @property
    def clip_note(self) -> str:
        """Return a clause for sentences about the scores if some are clipped, else an empty text."""
        if not any(protocol.clipped_by for protocol in self.protocols.values()):
            return ""
        return ", those after training clipped by the direct ones"

    @property
    def protocol_names(self) -> dict[str, str]:
        """Return the name of each protocol in tables and figures."""
        return {key: protocol.name for key, protocol in self.protocols.items()}

    @property
    def plotted_protocols(self) -> list[str]:
        """List the protocols that figures show."""
        return [key for key, protocol in self.protocols.items() if protocol.in_figures]

    @property
    def categories_by_task(self) -> dict[str, str]:
        return {task: name for name, tasks in self.categories.items() for task in tasks}


def read_grid_files(tasks: Collection[str]) -> dict[str, GridFile]:
    """Read the files in config/grids by name.

    A file in the working directory replaces the one of the same name in the Snakefile's folder.
    """
    grids: dict[str, GridFile] = {}
    for name, path in sorted(find_yaml_files(ROOT / FOLDER, Path(FOLDER)).items()):
        grids[name] = validate(GridFile, read_yaml(path), f"{path}: ")
        tables = [*grids[name].tasks, *tasks]
        for task in grids[name].categories_by_task:
            if task not in tables:
                near = format_suggestion(task, tables)
                raise UserError(f"{path}: categories has {task!r}; expected a known task.{near}")
    return grids


def list_grid_files(grid: GridFile) -> dict[str, Any]:
    """Return the input files of the grid's analyses, by the names of their inputs."""
    files = {"correlations": CORRELATIONS}
    for name, part in {"attributes": grid.attributes, "release": grid.release}.items():
        if part:
            files[name] = part.file
    located = {name: str(locate_file(path)) for name, path in files.items()}
    return located | {"scores": [str(locate_file(path)) for path in grid.scores]}
