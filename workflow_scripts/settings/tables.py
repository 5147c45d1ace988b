"""The tables of models, tasks, work and devices: tab-separated, one header line, read strictly.

Nothing is guessed from a cell. All problems of a table are reported at once, each with file, line,
column, value and what was expected.
"""

import csv
import re
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import LOCAL, hub_name_problem
from workflow_scripts.settings.section import Section, unlike
from workflow_scripts.settings.sentences import expectation, hint, listed, shown


def _whole_number(cell: str) -> int | str:
    # int() would also take '1_000', ' 12' and digits of other scripts.
    return int(cell) if cell.isascii() and cell.isdigit() else cell


def _number_or_none(cell: str | None) -> float | str | None:
    return float(cell) if cell and re.fullmatch(r"[0-9]+(\.[0-9]+)?", cell) else cell or None


def _yes_or_no(cell: str) -> bool | str:
    return {"yes": True, "no": False}.get(cell, cell)


def _hub_name(cell: str) -> str:
    if problem := hub_name_problem(cell):
        raise unlike(f"a hub name, but {problem}")
    return cell


def _blank_is_none(cell: str) -> str | None:
    return cell or None


Text = Annotated[
    str,
    Field(
        pattern=r'^[^"\s]([^"]*[^"\s])?$',
        title="text without quotation marks and without spaces around it",
    ),
]
WholeNumber = Annotated[int, BeforeValidator(_whole_number)]
_OR_NOTHING = Field(title="a whole number of at least 1, or nothing")
WholeNumberOrNone = Annotated[WholeNumber | None, BeforeValidator(_blank_is_none), _OR_NOTHING]
Tokens = Annotated[
    float | None,
    BeforeValidator(_number_or_none),
    Field(title="a number above 0, in billions, or nothing"),
]
YesOrNo = Annotated[bool, BeforeValidator(_yes_or_no), Field(title="yes or no")]
HubName = Annotated[str, AfterValidator(_hub_name), Field(title="a hub name, organisation/name")]
Revision = Annotated[
    str,
    Field(pattern=r"^\w[\w./-]*$", title="a branch, tag or commit of the repository, or nothing"),
]

Endpoint = Annotated[
    str,
    AfterValidator(lambda address: address.rstrip("/")),
    Field(
        pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$",
        title="the address of a completions API, such as http://node7:8000/v1",
    ),
]

# The six of the published grid in its order, which figures keep, two that it has not, and what nobody
# has put anywhere.
Category = Literal[
    "Language Understanding",
    "Commonsense Reasoning",
    "Question Answering",
    "Physics/Biology/Chemistry",
    "Math",
    "Medicine",
    "General Knowledge",
    "Language Modelling",
    "Other",
]
CATEGORIES: tuple[str, ...] = get_args(Category)


class ModelRow(Section):
    """One model the workflow knows."""

    model: HubName
    """Name on the hub; names under miniature/ are generated"""
    source: Literal["huggingface", "miniature", "local"]
    """The world it belongs to; local is a folder on this machine, which fits any"""
    family: Text
    """Models that share a colour in figures"""
    parameters: WholeNumber = Field(ge=1)
    """As published, tied embeddings counted once"""
    active_parameters: WholeNumberOrNone = Field(None, ge=1)
    """Those that a token passes through, of a mixture of experts; blank where that is all"""
    tokens_billion: Tokens = Field(None, gt=0)
    """Tokens of pre-training, in billions; blank where nobody says"""
    layers: WholeNumber = Field(ge=1)
    """Decoder layers; chunk plans are checked against it"""
    kind: Literal["base", "instruct"]
    """Pre-trained only, or tuned to follow a chat"""
    licence: Text
    """SPDX id, or the vendor's own name for its licence"""
    gated: YesOrNo
    """Whether the hub wants an accepted licence and a token"""
    revision: Annotated[Revision | None, BeforeValidator(_blank_is_none)]
    """Blank is the default branch; the lock file holds the commit it resolved to"""
    endpoint: Annotated[Endpoint | None, BeforeValidator(_blank_is_none)] = None
    """Address of the completions API of a server that answers for it; blank where it runs here"""

    @field_validator("source")
    @classmethod
    def _source_fits_the_name(cls, source: str, info: ValidationInfo) -> str:
        organisation = info.data.get("model", "").split("/")[0]
        for special in ("miniature", LOCAL):
            if organisation and (organisation == special) != (source == special):
                raise unlike(f"{special!r} for names under {special}/ and for no others")
        return source


class TaskRow(Section):
    """One task the workflow knows."""

    task: Annotated[
        str, Field(pattern=r"^[a-z][a-z0-9_]*$", title="lower-case letters, digits and '_'")
    ]
    """Name in the config and in paths"""
    harness: Literal["lm_eval", "lighteval"]
    """Whose definition of the task is used"""
    harness_task: Text
    """Name there"""
    dataset: HubName
    """Name of the dataset on the hub"""
    subset: Annotated[Text | None, BeforeValidator(_blank_is_none)]
    """The dataset's configuration; blank where the task takes the only one, or all"""
    metric: Text
    """The metric that tables report"""
    filter: Text
    """lm-eval's filter behind that metric; none where there is none"""
    cluster: Annotated[Text | None, BeforeValidator(_blank_is_none)] = None
    """Columns of its data, with spaces between: items that agree in them belong together"""
    training: YesOrNo
    """Whether it has a training split, for train-before-test"""
    category: Category
    """The group it belongs to in figures"""
    display_name: Text
    """Name in tables and figures"""

    @property
    def full_metric(self) -> str:
        """The metric as records name it: with its filter, where there is one."""
        return self.metric if self.filter == "none" else f"{self.metric},{self.filter}"


class DeviceRow(Section):
    """One kind of processor that jobs may run on, by what its maker promises."""

    device: Text
    """Name in the config"""
    memory_gb: WholeNumber = Field(ge=1)
    """Memory of one"""
    half_gflops: WholeNumber = Field(ge=1)
    """Peak in bfloat16 and float16, dense"""
    single_gflops: WholeNumber = Field(ge=1)
    """Peak in float32"""
    bandwidth_gb_s: WholeNumber = Field(ge=1)
    """Of its memory"""
    layer_us: WholeNumber = Field(ge=1)
    """Microseconds that a layer's kernels take to be launched, forward, as an estimate"""
    bfloat16: YesOrNo = True
    """Whether it computes in bfloat16 itself, and does not emulate it"""
    source: Text
    """Where the numbers are from"""

    def peak(self, dtype: str) -> float:
        """Operations a second."""
        single = dtype == "float32" or (dtype == "bfloat16" and not self.bfloat16)
        return (self.single_gflops if single else self.half_gflops) * 1e9


class WorkRow(Section):
    """How much there is to do for one task; tokens are those of an average item, by estimate."""

    task: Text
    """Name in the tasks table"""
    training_items: WholeNumber = Field(ge=0)
    """Items of the training split"""
    test_items: WholeNumber = Field(ge=1)
    """Items that are measured"""
    training_tokens: WholeNumber = Field(ge=0)
    """Tokens of a training item"""
    test_tokens: WholeNumber = Field(ge=1)
    """Tokens read for a test item, what its choices share counted once"""
    new_tokens: WholeNumber = Field(ge=0)
    """Tokens generated for it"""
    download_mb: WholeNumber = Field(ge=0)
    """Size of its dataset on the hub"""
    source: Text
    """Where the numbers of items are from"""


Row = TypeVar("Row", ModelRow, TaskRow, DeviceRow, WorkRow)


class Tables(Section):
    """Where the tables lie: looked up in the working directory first, then beside the Snakefile."""

    models: str = Field("config/models.tsv", min_length=1)
    """Table of models."""
    tasks: str = Field("config/tasks.tsv", min_length=1)
    """Table of tasks."""
    work: str = Field("config/work.tsv", min_length=1)
    """Table of how much there is to do for each task, for planning."""
    devices: str = Field("config/devices.tsv", min_length=1)
    """Table of devices, for planning."""
    found_models: str = Field("config/models.found.tsv", min_length=1)
    """Written by the workflow, in the columns of the table of models: models of the hub that it
    lacks, as the hub describes them when the config names one for the first time."""
    found_tasks: str = Field("config/tasks.found.tsv", min_length=1)
    """The same for tasks, as lm-eval defines them."""


def read_table(row_type: type[Row], path: Path, *, may_be_empty: bool = False) -> dict[str, Row]:
    """All rows by the table's first column, in its order.

    pydantic checks the cells of a row; which line they stand in, and whether a name stands there
    twice, only the reader of the file knows.
    """
    columns = {name: field.is_required() for name, field in row_type.model_fields.items()}
    key = next(iter(columns))
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
            lines = [(reader.line_num, cells) for cells in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"{path} cannot be read as a tab-separated UTF-8 table ({error})."
        ) from None

    header = lines[0][1] if lines else []
    if problems := _header_problems(path, header, columns):
        raise UserError(problems)
    rows, line_of = dict[str, Row](), dict[str, int]()
    for line, cells in lines[1:]:
        where = f"{path}, line {line}"
        if len(cells) != len(header):
            problems.append(
                f"{where}: there are {len(cells)} cells; expected {len(header)}, one per column, with"
                " one tab between them."
            )
            continue
        values = dict(zip(header, cells, strict=True))
        name = values[key]
        if line_of.setdefault(name, line) != line:
            problems.append(
                f"{where}, column {key}: the value is {shown(name)}, as in line {line_of[name]};"
                f" expected each {key} once."
            )
        try:
            rows[name] = row_type.model_validate(values)
        except ValidationError as error:
            problems += _cell_problems(where, values, error, row_type)
    if not (rows or may_be_empty or problems):
        problems.append(f"{path} has no rows; expected at least one {key}.")
    if problems:
        raise UserError(problems)
    return rows


read_models = partial(read_table, ModelRow)
read_tasks = partial(read_table, TaskRow)
read_work = partial(read_table, WorkRow)
read_devices = partial(read_table, DeviceRow)


def _header_problems(path: Path, header: list[str], columns: dict[str, bool]) -> list[str]:
    """`columns` says of each whether it has to be there."""
    problems = [
        f"{path}, line 1: the column {shown(name)} is unknown; expected"
        f" {listed(columns)}{hint(name, columns)}."
        for name in header
        if name not in columns
    ]
    for name, required in columns.items():
        if name not in header and required:
            problems.append(f"{path}, line 1: the column {name} is missing.")
        elif header.count(name) > 1:
            problems.append(
                f"{path}, line 1: the column {name} stands {header.count(name)} times; expected it once."
            )
    return problems


def _cell_problems(
    where: str, cells: dict[str, str], error: ValidationError, row_type: type[Row]
) -> list[str]:
    columns = row_type.json_schema()["properties"]
    problems = []
    for problem in error.errors(include_url=False):
        column = str(problem["loc"][0])
        expected = problem.get("ctx", {}).get("text") or expectation(columns[column], {})
        problems.append(
            f"{where}, column {column}: the value is {shown(cells[column])}; expected {expected}."
        )
    return problems
