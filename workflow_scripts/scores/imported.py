"""Read external scores from CSV into our columns, with the file name as study; invalid lines are errors."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, get_args

import pandas as pd
from pydantic import (
    Field,
    FiniteFloat,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from workflow_scripts.core.errors import UserError, format_suggestion
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.scores.columns import COLUMNS
from workflow_scripts.scores.files import read_external_csv
from workflow_scripts.scores.metric_ranges import check_range, replace_zero_stderr, strip_filter
from workflow_scripts.scores.published_leaderboard import (
    LEADING_COLUMNS,
    PROTOCOL,
    TEST_ITEMS,
    read_metrics,
    read_wide_scores,
)
from workflow_scripts.settings.harmony import Protocol

_RANKED_STUDIES = ("harmony", "corpora")  # the studies that are imported from results/scores.csv
BITS_PER_BYTE = "bits_per_byte"  # the metric of texts, which are in no table of tasks
_UNIQUE_COLUMNS = ["model", "variant", "task", "subset", "protocol", "shots", "metric", "seed"]


class ImportedRow(Condition):
    """A line of the file: a score as a fraction, with its full metric name."""

    model: str
    task: str
    protocol: str
    metric: str
    value: FiniteFloat
    variant: str = ""
    subset: str | None = None
    shots: int | None = Field(None, ge=0)
    stderr: FiniteFloat | None = Field(None, ge=0)
    n: int | None = Field(None, ge=1)
    seed: int | None = None
    baseline: FiniteFloat | None = None
    chance: FiniteFloat | None = None
    dtype: str | None = None
    commit: str | None = None

    @model_validator(mode="after")
    def _check_task(self, info: ValidationInfo) -> Self:
        """Check the score against the task and its metric."""
        context: Any = info.context
        metrics, protocols = context["metrics"], context["protocols"]
        if self.task not in metrics and self.metric != BITS_PER_BYTE:
            hint = format_suggestion(self.task, metrics)
            raise ValueError(f"the task {self.task!r} is unknown.{hint}")
        if self.protocol not in protocols:
            raise ValueError(f"protocol is {self.protocol!r}; expected one of {list(protocols)}")
        reported = metrics.get(self.task, self.metric)
        if self.metric != reported:
            raise ValueError(f"metric is {self.metric!r}; tables report {reported!r}")
        check_range(self.metric, self.value)
        return self


def read_all_imported(
    paths: Sequence[Path], metrics: Mapping[str, str], reserved: set[str]
) -> list[pd.DataFrame]:
    """Read the scores of each file; `reserved` are names of studies that no file may have."""
    names = [*reserved, *(path.stem for path in paths)]
    for path in paths:
        if names.count(path.stem) > 1:
            raise UserError(f"{path}: other scores have the name {path.stem!r}; rename the file.")
    return [read_imported(path, metrics) for path in paths]


def read_imported(
    path: Path, metrics: Mapping[str, str], protocols: Sequence[str] = get_args(Protocol)
) -> pd.DataFrame:
    """Read the scores of one file; `metrics` maps every known task to the metric that tables report.

    Further metrics of a task that has the reported one are dropped.
    """
    expected = "a header with model, task, protocol, metric and value, and a line for each score"
    frame = read_external_csv(path, expected, dtype=object, keep_default_na=False, na_values=[""])
    frame.index += 2  # lines of the file
    if set(LEADING_COLUMNS) <= set(frame):
        frame = _melt_leaderboard(path, metrics)
    if "study" in frame:  # results/scores.csv of another run
        frame = frame[frame["study"].isin(_RANKED_STUDIES)].drop(columns="study")
    required = {"model", "task", "protocol", "metric", "value"}
    wrong = (required - set(frame)) | (set(frame) - set(ImportedRow.model_fields))
    if wrong:
        hint = "".join(format_suggestion(name, ImportedRow.model_fields) for name in wrong)
        raise UserError(f"{path} has missing or unknown columns: {', '.join(sorted(wrong))}.{hint}")
    frame = _select_reported(frame, metrics)
    rows = _check_rows(path, frame, {"metrics": metrics, "protocols": protocols})
    scores = pd.DataFrame(rows, frame.index, list(COLUMNS))
    repeated = scores.index[scores.duplicated(_UNIQUE_COLUMNS)]
    if len(repeated):
        raise UserError(f"{path}, line {repeated[0]}: this score is listed twice.")
    scores = scores.reset_index(drop=True).assign(study=path.stem)
    return replace_zero_stderr(scores.astype(COLUMNS))


def _check_rows(path: Path, frame: pd.DataFrame, context: dict[str, Any]) -> list[dict[str, Any]]:
    """Validate each line; all problems are raised together."""
    records = [
        {str(name): value for name, value in record.items() if not pd.isna(value)}
        for record in frame.to_dict("records")
    ]
    try:
        rows = TypeAdapter(list[ImportedRow]).validate_python(records, context=context)
    except ValidationError as error:
        problems = []
        for problem in error.errors():
            row, *names = problem["loc"]
            name = ".".join(map(str, names)) or records[int(row)]["task"]
            problems.append(f"{path}, line {frame.index[int(row)]}: {name}: {problem['msg']}.")
        raise UserError(problems) from None
    return [row.model_dump() for row in rows]


def _select_reported(frame: pd.DataFrame, metrics: Mapping[str, str]) -> pd.DataFrame:
    """Name metrics with their filter, and drop other metrics of tasks that have the reported one."""
    reported = frame["task"].map(dict(metrics)).fillna(frame["metric"])
    short = reported.map(strip_filter, "ignore")
    is_reported = (frame["metric"] == reported) | (frame["metric"] == short)
    metric = frame["metric"].mask(is_reported, reported)
    has_reported = is_reported.groupby(frame["task"], dropna=False).transform("any")
    return frame.assign(metric=metric)[is_reported | ~has_reported]


def _melt_leaderboard(path: Path, metrics: Mapping[str, str]) -> pd.DataFrame:
    """Melt the published leaderboard into one line per score of a task for which tables report the same metric."""
    long = read_wide_scores(path).melt(var_name="task", ignore_index=False).dropna().reset_index()
    reported = long["task"].map(dict(metrics)).fillna("unknown")
    metric = long["task"].map(read_metrics()).fillna(reported)
    long = long.assign(protocol=PROTOCOL, metric=metric, n=long["task"].map(TEST_ITEMS))
    return long[metric == reported]
