"""The record of one measurement: what was measured, how, the numbers, and what produced them.

A record is one JSON file and, beside it, a Parquet file of its items. Everything that may differ
between two runs of the same measurement (dates, host, durations, memory) stands in `volatile`, so
that without that block two runs can be compared byte for byte.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    model_validator,
)

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import (
    describe_alteration,
    format_canonical_json,
    hash_bytes,
    hash_file,
    write_json,
)
from workflow_scripts.core.items import Item, read_items, write_items
from workflow_scripts.core.measurement_conditions import Condition

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ProtocolName = Literal[
    "direct", "few_shot", "train_before_test", "perplexity", "latency", "prompt_run"
]


class StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ModelFacts(StrictModel):
    id: str  # of the checkpoint: hub name, plan and stages
    repository: str
    commit: str
    weights_sha256: Sha256
    parameters: int | None = None
    plan: str | None = None
    stages: tuple[str, ...] = ()


class TaskFacts(StrictModel):
    name: str
    harness: str
    harness_version: str
    dataset: str
    dataset_commit: str
    subset: str | None = None
    split: str
    shots: NonNegativeInt
    version: str | None = None  # the harness's version of the task


class Protocol(StrictModel):
    name: ProtocolName
    dtype: str
    attention: str  # the attention that ran, not the one asked for
    engine: str | None = None  # prefix sharing, or plain batches of batch_size and why
    batch_size: PositiveInt
    threads: PositiveInt  # CPU threads; sums on a CPU depend on their number
    seed: int
    chat_template: bool = False
    max_items: int | None = None
    generation: dict[str, Any] = {}


class Metric(StrictModel):
    name: str
    subset: str | None = None  # null for the whole task
    condition: Condition | None = None  # null where nothing was varied within the measurement
    value: float
    stderr: NonNegativeFloat | None
    n: PositiveInt
    best_constant: float | None  # the best that one fixed answer scores
    chance: float | None  # what answering at random scores on average


class ItemsFile(StrictModel):
    file: str = Field(pattern=r"^[^/\\]+$")  # beside the record
    sha256: Sha256
    n: PositiveInt


class Cost(StrictModel):
    tokens: NonNegativeInt  # run through the model, padding included
    device: str


class TrainingFacts(StrictModel):
    """Training before this measurement: its data, and the state that was taken."""

    keys: dict[str, Any]  # method, rate, epochs, caps, and so on
    samples: PositiveInt
    held_out_samples: NonNegativeInt  # on which the state was chosen
    held_out_split: str
    tokens: PositiveInt
    trained_parameters: PositiveInt
    selected: dict[str, Any]
    evaluations: tuple[dict[str, Any], ...]  # on the held-out samples
    bad_samples: dict[str, Any] = {}
    # What a GPU decided: how rows were packed, in which format; null on a CPU in float32.
    ran: dict[str, Any] | None = None


class Provenance(StrictModel):
    code_commit: str | None
    settings_sha256: Sha256  # of the request the step was given
    packages: dict[str, str]


class RunMetadata(StrictModel):
    started: str
    finished: str
    seconds: NonNegativeFloat  # trainings that share steps count them each
    host: str
    peak_memory_mb: NonNegativeInt
    peak_gpu_memory_mb: int | None = None  # of the GPU that held most
    # Where times were taken: the first of these, or over several as many as there were.
    devices: tuple[str, ...] = ()
    stable_sha256: Sha256 | None = None  # of the record without this block


class ChecksummedModel(StrictModel):
    """A file that vouches for itself: its volatile block has the checksum of all else."""

    if TYPE_CHECKING:  # each kind says itself where the block stands among its fields
        volatile: RunMetadata

    def serialize_stable(self) -> bytes:
        """Serialize all but the volatile block: equal for two runs of the same measurement."""
        return format_canonical_json(self.model_dump(mode="json", exclude={"volatile"})).encode()

    def write(self, path: Path) -> Self:
        seal = {"stable_sha256": hash_bytes(self.serialize_stable())}
        sealed = self.model_copy(update={"volatile": self.volatile.model_copy(update=seal)})
        write_json(path, sealed.model_dump(mode="json"))
        return sealed

    def refuse_altered(self, path: Path) -> None:
        if self.volatile.stable_sha256 != hash_bytes(self.serialize_stable()):
            raise UserError(f"{path} was altered: it is not what its own sha256 says.")


class Record(ChecksummedModel):
    schema_version: Literal[3] = 3
    study: str
    request: dict[str, Any]  # of the step, whole (settings.job_params)
    model: ModelFacts
    task: TaskFacts
    protocol: Protocol
    metrics: tuple[Metric, ...] = Field(min_length=1)
    items: ItemsFile
    cost: Cost
    training: TrainingFacts | None = None  # null for a model as it is
    provenance: Provenance
    volatile: RunMetadata

    @model_validator(mode="after")
    def _refuse_duplicates(self):
        keys = {(metric.name, metric.subset, metric.condition) for metric in self.metrics}
        if len(keys) < len(self.metrics):
            raise ValueError("a metric stands twice")
        return self


class FailedRecord(StrictModel):
    """A record whose cell failed: where, why, and the log that has more."""

    record: str
    reason: str
    log: str


def write_record(path: Path, items: list[Item], **fields) -> Record:
    """Write the items, then the record that vouches for them; refuse numbers that do not add up."""
    items_path = path.with_suffix(".parquet")
    _check_counts(path, fields["metrics"], [(item.subset, item.condition) for item in items])
    write_items(items_path, items)
    file = ItemsFile(file=items_path.name, sha256=hash_file(items_path), n=len(items))
    return Record(items=file, **fields).write(path)


def read_record(path: Path) -> Record | FailedRecord:
    """Read a record strictly and hold it against its items; every problem names the file.

    Of a cell that failed the answer is a FailedRecord: whoever reads must say what becomes of it.
    """
    record = read_record_numbers(path)
    if isinstance(record, Record):
        _check_items(path, record)
    return record


def read_complete_record(path: Path) -> Record:
    """Read a record that must not be one of a cell that failed."""
    record = read_record(path)
    if isinstance(record, FailedRecord):
        raise UserError(f"{path} is of a broken cell: {record.reason}")
    return record


def sort_records(paths: Iterable[Path]) -> tuple[list[tuple[Path, Record]], list[FailedRecord]]:
    """Read the complete records, each with its file, and the failed ones."""
    records = [(path, read_record(path)) for path in paths]
    complete = [(path, record) for path, record in records if isinstance(record, Record)]
    return complete, [record for _, record in records if isinstance(record, FailedRecord)]


def read_record_numbers(path: Path) -> Record | FailedRecord:
    """Read a record for its numbers alone: the items are neither read nor checked."""
    with name_file_in_errors(path):
        fields = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(fields, dict) and list(fields) == ["broken"]:
            return FailedRecord.model_validate(fields["broken"])
        return Record.model_validate(fields)


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Name the file in every problem, while it is read strictly."""
    try:
        yield
    except FileNotFoundError as error:
        raise UserError(f"{error.filename} is missing.") from None
    except ValidationError as error:
        raise UserError(
            f"{path}: {'.'.join(map(str, problem['loc'])) or 'record'}: {problem['msg']}."
            for problem in error.errors()
        ) from None
    except ValueError as error:  # also json.JSONDecodeError and undecodable bytes
        raise UserError(f"{path} is not a JSON record ({error}).") from None


def _check_items(path: Path, record: Record) -> None:
    items_path = path.with_name(record.items.file)
    if problem := describe_alteration(items_path, record.items.sha256):
        raise UserError(problem)
    items = read_items(items_path).select(["subset", "condition"]).to_pylist()
    if len(items) != record.items.n:
        raise UserError(f"{items_path} has {len(items)} items; its record says {record.items.n}.")
    groups = [
        (item["subset"], item["condition"] and Condition(**item["condition"])) for item in items
    ]
    _check_counts(path, record.metrics, groups)
    record.refuse_altered(path)


def _check_counts(
    path: Path, metrics: tuple[Metric, ...], groups: list[tuple[str | None, Condition | None]]
) -> None:
    """Refuse a score that does not speak of all its items."""
    counts = Counter(groups)
    for metric in metrics:
        expected = sum(
            count
            for (subset, condition), count in counts.items()
            if metric.subset in (None, subset) and metric.condition in (None, condition)
        )
        if metric.n != expected:
            raise UserError(
                f"{path}: the metric {metric.name!r} has n = {metric.n}, but there are {expected} items."
            )
