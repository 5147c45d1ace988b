"""Read and check the tab-separated tables of models, tasks, work and devices."""

import csv
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, ConfigDict, Field

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import describe_hub_name_problem
from workflow_scripts.settings.error_messages import validate
from workflow_scripts.settings.section import Count, NonNegative, Positive, Section


def _check_hub_name(name: str) -> str:
    if problem := describe_hub_name_problem(name):
        raise ValueError(f"expected a hub name, organisation/name, but {problem}")
    return name


CellText = Annotated[str, Field(pattern=r'^[^"\s]([^"]*[^"\s])?$')]
HubName = Annotated[str, AfterValidator(_check_hub_name)]

# The six categories of the published grid in its order, which figures keep; then two more, and Other for
# tasks without a category.
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


class TableRow(Section):
    """A row of text cells."""

    model_config = ConfigDict(strict=False)

    @property
    def key(self) -> Any:
        """Return the key of the row in its table: the first cell."""
        return getattr(self, next(iter(type(self).model_fields)))


class ModelRow(TableRow):
    """A row of the models table."""

    model: HubName
    """Name on the hub; names under miniature/ are generated"""
    source: Literal["huggingface", "miniature", "local"]
    """The config's `source` that it belongs to; local, a folder on this machine, may be used with
    any source"""
    family: CellText
    """Models that share a colour in figures"""
    parameters: Count
    """Number of parameters as published, tied embeddings counted once"""
    active_parameters: Count | None = None
    """Parameters per token of a mixture of experts; blank for a dense model"""
    tokens_billion: Positive | None = None
    """Tokens of pre-training, in billions; blank if not published"""
    layers: Count
    """Number of decoder layers; chunk plans are checked against it"""
    kind: Literal["base", "instruct"]
    """base: pre-trained only; instruct: tuned for chat"""
    licence: CellText
    """SPDX id, or the vendor's own name for its licence"""
    gated: bool
    """Whether the hub requires an accepted licence and a token"""
    revision: str | None = Field(None, pattern=r"^\w[\w./-]*$")
    """Revision on the hub, blank for the default branch; the lock file has its commit"""


class TaskRow(TableRow):
    """A row of the tasks table."""

    task: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    """Name in the config and in paths"""
    harness: Literal["lm_eval", "lighteval"]
    """Harness whose definition of the task is used"""
    harness_task: CellText
    """Name of the task in the harness"""
    dataset: HubName
    """Name of the dataset on the hub"""
    metric: CellText
    """The metric that tables report"""
    filter: CellText
    """lm-eval's filter of that metric, or none"""
    cluster: CellText | None = None
    """Columns of its data, separated by spaces: items with equal values in them are one cluster"""
    training: bool
    """Whether it has a training split, for train-before-test"""
    category: Category
    """Category of the task in figures"""
    display_name: CellText
    """Name in tables and figures"""

    @property
    def full_metric(self) -> str:
        """Return the metric's name in records: with its filter, if it has one."""
        return self.metric if self.filter == "none" else f"{self.metric},{self.filter}"


class DeviceRow(TableRow):
    """A row of the devices table: a GPU or CPU with its specifications."""

    device: CellText
    """Name in the config"""
    memory_gb: Count
    """Memory of one device in GB"""
    half_gflops: Count
    """Peak GFLOP/s in bfloat16 and float16, without sparsity"""
    single_gflops: Count
    """Peak GFLOP/s in float32"""
    bandwidth_gb_s: Count
    """Memory bandwidth in GB/s"""
    layer_us: Count
    """Estimated microseconds to launch the kernels of a layer's forward pass"""
    bfloat16: bool = True
    """Whether it has native bfloat16, not emulated"""
    source: CellText
    """Source of the numbers"""

    def get_peak_flops(self, dtype: str) -> float:
        """Return the peak FLOPs per second in a dtype."""
        single = dtype == "float32" or (dtype == "bfloat16" and not self.bfloat16)
        return (self.single_gflops if single else self.half_gflops) * 1e9


class WorkRow(TableRow):
    """A row of the work table: items of a task, and estimated tokens of an average item."""

    task: CellText
    """Name in the tasks table"""
    training_items: NonNegative
    """Number of items of the training split"""
    test_items: Count
    """Number of items that are measured"""
    training_tokens: NonNegative
    """Mean number of tokens per training item"""
    test_tokens: Count
    """Mean number of prompt tokens per test item; a prefix that its choices share is counted
    once"""
    new_tokens: NonNegative
    """Number of tokens generated per test item"""
    download_mb: NonNegative
    """Size of the dataset on the hub in MB"""
    source: CellText
    """Source of the numbers of items"""


# The type of a row, by the name of the table in config/.
TABLES: dict[str, type[TableRow]] = {
    "models": ModelRow,
    "tasks": TaskRow,
    "work": WorkRow,
    "devices": DeviceRow,
}
Row = TypeVar("Row", bound=TableRow)


def read_table(row_type: type[Row], path: Path) -> dict[Any, Row]:
    """Read a table as rows by their keys, in the order of the file; a blank cell is a missing value."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"{path} cannot be read as a tab-separated UTF-8 table ({error})."
        ) from None
    rows: dict[Any, Row] = {}
    for number, cells in enumerate(lines, start=2):
        where = f"{path}, line {number}: "
        row = validate(row_type, {key: cell for key, cell in cells.items() if cell}, where)
        if row.key in rows:
            raise UserError(f"{where}{row.key} is listed twice.")
        rows[row.key] = row
    return rows
