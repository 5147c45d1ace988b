"""Grids as data: models x tasks x protocols with scores, each described by a file in config/grids."""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.harmony import Protocol
from workflow_scripts.settings.names import find_file
from workflow_scripts.settings.raw import checked
from workflow_scripts.settings.section import Listed, Section
from workflow_scripts.settings.sentences import hint, listed, shown
from workflow_scripts.settings.tables import TaskRow
from workflow_scripts.settings.yaml_files import read_yaml

FOLDER = "config/grids"
# By task, how the right answers of two models go together: where no items of a grid are known.
CORRELATIONS = "resources/published/items/correlations.csv"
OWN_GRID, PUBLISHED_GRID = "own", "published"
Words = Annotated[str, Field(min_length=1)]
Name = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]*$", title="a name of lower-case letters, digits and underscores"
    ),
]
ATTRIBUTES = ("family", "kind", "parameters_billion", "tokens_billion", "date")
NEWER_NEEDS = ATTRIBUTES[2:]


class GridProtocol(Section):
    """One protocol under which models were scored."""

    name: Words
    """Name in tables and figures"""
    after_training: bool = False
    """Whether each model was trained before it was tested"""
    floored_by: Name | None = None
    """Another protocol, whose score is taken where it is the better one"""
    scores_of: Name | None = None
    """The protocol whose scores are floored, where this one has none of its own"""
    in_figures: bool = True
    """Whether figures show it; tables always do"""


class GridTask(Section):
    """A task that the table of tasks lacks, or has with another metric than these scores are of."""

    name: Words
    """Name in tables and figures"""
    metric: Words
    """The metric that is reported; others are left out"""


class GridAttributes(Section):
    """What is known of the models, in a table with a line for each, by the column `model`."""

    file: Words
    """CSV, or TSV by its name"""
    columns: dict[str, Words]
    """How the file calls each attribute"""


class GridRelease(Section):
    """The same scores, released a second time, in the form of the published leaderboard."""

    file: Words
    """Wide CSV, in percent"""
    name: Words
    """Name in tables"""
    about: Words
    """What it is beside the other, in a sentence"""
    protocol: Name
    """Of which they are"""


class GridNewer(Section):
    """Whether newer models score higher at the same compute: what that is asked with."""

    since: Annotated[
        str, Field(pattern=r"^\d{4}-\d{2}$", title="a month, such as 2023-11, in quotation marks")
    ]
    """The month from which on a model counts as newer"""
    chance: dict[str, float]
    """By task, what is scored without any knowledge"""
    printed: dict[str, dict[str, float]] = Field({})
    """By protocol and task, by how much newer models are better, as the authors print it"""


class GridFile(Section):
    """A file in config/grids; tasks and models it does not describe are those of the tables."""

    title: str = ""
    """What the titles of its tables begin with"""
    called: Words = "scores"
    """What sentences call its scores"""
    files: Name | None = None
    """What the names of its results begin with; its own name where not said"""
    run: bool = False
    """Whether it has the scores of this run, and imported ones"""
    scores: Listed[Words] = ()
    """CSV files in the columns of imported scores"""
    protocols: dict[str, GridProtocol] = Field(min_length=1)
    """In their order; the first is what others are compared with"""
    models: int | None = Field(None, ge=1)
    """How many there are, where that is known"""
    categories: dict[str, Listed[Name]] = Field({})
    """The tasks in their order; those of the table where not said"""
    tasks: dict[str, GridTask] = Field({})
    """Tasks that the table of tasks lacks, or has with another metric"""
    attributes: GridAttributes | None = None
    """What is known of the models"""
    measures: Listed[Literal["kendall", "pearson"]] = ("kendall",)
    """Of the agreement of two tasks"""
    families: Listed[Words] = ()
    """Families that have components of their own"""
    pair: Listed[Name] = ()
    """Two tasks whose rankings stand side by side"""
    texts: dict[str, Words] = Field({})
    """Texts with bits per byte, and their names"""
    about_texts: str = "texts"
    """What they are, in a sentence"""
    lacking_texts: str = ""
    """Models without bits per byte"""
    kinds: Listed[Literal["base", "instruct"]] = ()
    """Whose texts before training are set beside scores after it"""
    release: GridRelease | None = None
    """A second release of the same scores"""
    newer: GridNewer | None = None
    """Newer models beside older ones of the same compute"""
    in_report: bool = True
    """Whether the report shows it; else its tables and figures are made where they are asked for"""

    @property
    def baseline(self) -> str:
        return next(iter(self.protocols))

    @property
    def floor_said(self) -> str:
        """Within a sentence about its scores: that some are floored."""
        if not any(one.floored_by for one in self.protocols.values()):
            return ""
        return ", those after training floored by the direct ones"

    @property
    def names(self) -> dict[str, str]:
        """How people call each protocol."""
        return {key: one.name for key, one in self.protocols.items()}

    @property
    def drawn(self) -> list[str]:
        """The protocols of figures."""
        return [key for key, one in self.protocols.items() if one.in_figures]

    @property
    def category_of(self) -> dict[str, str]:
        return {task: name for name, tasks in self.categories.items() for task in tasks}


def read_grid_files(
    workflow_folder: Path, tasks: Mapping[str, TaskRow] | None
) -> dict[str, GridFile]:
    """By the name of its file, each in config/grids; a UserError holds one sentence per problem.

    One in the working directory stands in for that of the same name beside the Snakefile.
    """
    files: dict[str, Path] = {}
    for folder in (Path(FOLDER), workflow_folder / FOLDER):
        for path in sorted(folder.glob("*.yaml")):
            files.setdefault(path.stem, path)
    grids: dict[str, GridFile] = {}
    problems: list[str] = []
    begun: dict[str, Path] = {}
    for name, path in sorted(files.items()):
        try:
            grids[name] = grid = _read(path, workflow_folder, tasks)
        except UserError as error:
            problems += error.problems
            continue
        if (other := begun.setdefault(grid.files or name, path)) != path:
            problems.append(
                f"{path}: its results are called {grid.files or name}_…, as those of {other}; expected"
                " another name in the key files."
            )
    if problems:
        raise UserError(problems)
    return grids


def _read(path: Path, workflow_folder: Path, tasks: Mapping[str, TaskRow] | None) -> GridFile:
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise UserError(f"{path} is {shown(content)}; expected a mapping of the keys of a grid.")
    grid, problems = checked(GridFile, content)
    if grid is not None:
        problems += _contradictions(grid, tasks)
        problems += [
            f"{key} is {shown(file)}; expected a file, but there is none in the working directory or"
            " beside the Snakefile."
            for key, file in _named_files(grid)
            if find_file(file, workflow_folder) is None
        ]
    if grid is None or problems:
        raise UserError(f"{path}: {problem}" for problem in problems)
    return grid


def _named_files(grid: GridFile) -> Iterator[tuple[str, str]]:
    yield from ((f"scores[{at}]", file) for at, file in enumerate(grid.scores))
    if grid.attributes:
        yield "attributes.file", grid.attributes.file
    if grid.release:
        yield "release.file", grid.release.file


def grid_inputs(grid: GridFile, workflow_folder: Path) -> dict[str, list[str]]:
    """The files that its analyses are made from, under the names by which they ask for them."""
    found: dict[str, list[str]] = {}
    for key, file in (*_named_files(grid), ("correlations", CORRELATIONS)):
        path = str(find_file(file, workflow_folder) or file)
        found.setdefault(key.split("[")[0].removesuffix(".file"), []).append(path)
    return found


def _contradictions(grid: GridFile, known: Mapping[str, TaskRow] | None) -> Iterator[str]:
    """Check the keys against each other and against the table of tasks."""
    protocols = f"one of {listed(grid.protocols, 'or')}"
    yield from _check_names(grid)
    yield from _check_protocols(grid)
    yield from _check_categories(grid, known)
    tasks = list(dict.fromkeys(task for names in grid.categories.values() for task in names))
    if lone := [task for task in grid.tasks if task not in tasks]:
        yield f"tasks.{lone[0]} is in none of categories; expected it in one."
    if grid.pair and not (len(grid.pair) == 2 and set(grid.pair) <= set(tasks)):
        yield f"pair is {listed(grid.pair)}; expected two tasks of categories."
    if grid.release and grid.release.protocol not in grid.protocols:
        yield f"release.protocol is {grid.release.protocol!r}; expected {protocols}."
    if grid.newer:
        yield from _of_newer(grid, grid.newer, tasks, protocols)


def _check_names(grid: GridFile) -> Iterator[str]:
    if grid.run == bool(grid.scores):
        yield "expected either run: true, or files of scores."
    for section in ("protocols", "tasks", "texts"):
        for name in getattr(grid, section):
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
                yield (
                    f"{section} has the key {shown(name)}; expected a name of lower-case letters, digits and"
                    " underscores."
                )
    for name in grid.attributes.columns if grid.attributes else ():
        if name not in ATTRIBUTES:
            near = hint(name, ATTRIBUTES)
            yield f"attributes.columns has the key {shown(name)}; expected {listed(ATTRIBUTES, 'or')}{near}."


def _check_protocols(grid: GridFile) -> Iterator[str]:
    for key, one in grid.protocols.items():
        here = f"protocols.{key}"
        if grid.run and not one.scores_of and key not in get_args(Protocol):
            yield f"{here} is no protocol of a run; expected {listed(get_args(Protocol), 'or')}."
        for field, other in (("floored_by", one.floored_by), ("scores_of", one.scores_of)):
            if other is not None and (other == key or other not in grid.protocols):
                near = hint(other, grid.protocols)
                yield f"{here}.{field} is {other!r}; expected another protocol of the file{near}."
        if one.scores_of and not one.floored_by:
            yield f"{here} has scores_of and no floor; expected floored_by beside it."


def _check_categories(grid: GridFile, known: Mapping[str, TaskRow] | None) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name, tasks in grid.categories.items():
        for at, task in enumerate(tasks):
            here = f"categories.{name}[{at}] is {task!r}"
            if task in seen:
                yield f"{here}, which {seen[task]} has; expected each task once."
            elif known is not None and task not in grid.tasks and task not in known:
                near = hint(task, [*grid.tasks, *known])
                yield f"{here}; expected a task of the tasks table, or one under tasks{near}."
            seen[task] = name


def _of_newer(
    grid: GridFile, newer: GridNewer, tasks: Collection[str], protocols: str
) -> Iterator[str]:
    known = grid.attributes.columns if grid.attributes else {}
    if missing := [name for name in NEWER_NEEDS if name not in known]:
        yield f"newer needs attributes.columns.{missing[0]}, which is missing; expected {listed(NEWER_NEEDS)}."
    named = {"newer.chance": newer.chance}
    for key, steps in newer.printed.items():
        named[f"newer.printed.{key}"] = steps
        if key not in grid.protocols:
            yield f"newer.printed has the key {shown(key)}; expected {protocols}."
    for place, of in named.items():
        for name in of:
            if name not in tasks:
                yield f"{place} has the key {shown(name)}; expected a task of categories{hint(name, tasks)}."
    if lacking := [task for task in tasks if task not in newer.chance]:
        yield f"newer.chance.{lacking[0]} is missing; expected a number for each task of categories."
