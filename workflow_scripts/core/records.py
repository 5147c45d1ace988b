"""Read and write the record of one measurement: model, task, protocol, metrics and provenance.

A record is a JSON file and a Parquet file of its items in the same folder. `volatile` has everything that
may differ between two runs of the same measurement (dates, host, durations, memory), so two runs without
this block can be compared byte for byte.
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
    hash_file,
    hash_text,
    write_json,
)
from workflow_scripts.core.items import Item, write_items
from workflow_scripts.core.measurement_conditions import Condition

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ProtocolName = Literal[
    "direct", "few_shot", "train_before_test", "perplexity", "latency", "prompt_run"
]


class StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ModelFacts(StrictModel):
    id: str  # checkpoint id: hub name, plan and stages
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
    attention: str  # the implementation that ran, not the one requested
    engine: str | None = None  # prefix sharing, or plain batches and the reason
    batch_size: PositiveInt
    threads: PositiveInt  # CPU threads; floating-point sums depend on their number
    seed: int
    chat_template: bool = False
    max_items: int | None = None
    generation: dict[str, Any] = {}


class Score(StrictModel):
    """A score of a task, without the number of its items if that is unknown."""

    name: str  # of the metric
    subset: str | None = None  # null for the whole task
    condition: Condition | None = None  # null if the measurement varied nothing
    value: float
    stderr: NonNegativeFloat | None
    n: PositiveInt | None
    best_constant: float | None  # score of the best constant answer
    chance: float | None  # expected score of random answers


class Metric(Score):
    """A score of a record, which has the items of all its scores."""

    n: PositiveInt


class ItemsFile(StrictModel):
    file: str = Field(pattern=r"^[^/\\]+$")  # in the folder of the record
    sha256: Sha256
    n: PositiveInt


class Cost(StrictModel):
    tokens: NonNegativeInt  # tokens of all forward passes, with padding
    device: str


class TrainingFacts(StrictModel):
    """Training before this measurement: its data and the selected training state."""

    keys: dict[str, Any]  # method, learning rate, epochs, limits and other keys of the recipe
    samples: PositiveInt
    held_out_samples: NonNegativeInt  # used to select the state
    held_out_split: str
    tokens: PositiveInt
    trained_parameters: PositiveInt
    selected: dict[str, Any]
    evaluations: tuple[dict[str, Any], ...]  # on the held-out samples
    bad_samples: dict[str, Any] = {}
    # Packing and dtype that the training chose on a GPU; null on a CPU in float32.
    ran: dict[str, Any] | None = None


class Provenance(StrictModel):
    code_commit: str | None
    settings_sha256: Sha256  # of the parameters in `request`
    packages: dict[str, str]


class RunMetadata(StrictModel):
    started: str
    finished: str
    seconds: NonNegativeFloat  # training runs that share steps each count them in full
    host: str
    peak_memory_mb: NonNegativeInt
    peak_gpu_memory_mb: int | None = None  # of the GPU with the highest peak
    # Devices of a latency measurement; one device uses the first, n devices the first n.
    devices: tuple[str, ...] = ()
    stable_sha256: Sha256 | None = None  # checksum of the record without this block


class ChecksummedModel(StrictModel):
    """A file with its own checksum: the volatile block has the checksum of all other fields."""

    if TYPE_CHECKING:  # subclasses declare the field, because field order is the order in the file
        volatile: RunMetadata

    def serialize_stable(self) -> str:
        """Serialize all fields but the volatile block; two runs of the same measurement give equal texts."""
        return format_canonical_json(self.model_dump(mode="json", exclude={"volatile"}))

    def write(self, path: Path) -> Self:
        """Write the file with its checksum, and return the model with it."""
        checksum = {"stable_sha256": hash_text(self.serialize_stable())}
        volatile = self.volatile.model_copy(update=checksum)
        checksummed = self.model_copy(update={"volatile": volatile})
        write_json(path, checksummed.model_dump(mode="json"))
        return checksummed

    def refuse_altered(self, path: Path) -> None:
        """Raise UserError if the fields do not have the checksum that the file has."""
        if self.volatile.stable_sha256 != hash_text(self.serialize_stable()):
            raise UserError(f"{path} was altered: it does not match its own sha256.")


class Record(ChecksummedModel):
    schema_version: Literal[3] = 3
    study: str
    request: dict[str, Any]  # all parameters of the step (settings.job_params)
    model: ModelFacts
    task: TaskFacts
    protocol: Protocol
    metrics: tuple[Metric, ...] = Field(min_length=1)
    items: ItemsFile
    cost: Cost
    training: TrainingFacts | None = None  # null for an untrained model
    provenance: Provenance
    volatile: RunMetadata

    @model_validator(mode="after")
    def _refuse_duplicates(self):
        keys = {(metric.name, metric.subset, metric.condition) for metric in self.metrics}
        if len(keys) < len(self.metrics):
            raise ValueError("a metric is listed twice")
        return self


class FailedRecord(StrictModel):
    """The record of a failed cell: its path, the reason, and the path of the log."""

    record: str
    reason: str
    log: str


def write_record(path: Path, items: list[Item], **fields) -> Record:
    """Write the items, then the record with their checksum; raise UserError if a metric's `n` is wrong."""
    items_path = path.with_suffix(".parquet")
    _check_counts(path, fields["metrics"], items)
    write_items(items_path, items)
    file = ItemsFile(file=items_path.name, sha256=hash_file(items_path), n=len(items))
    return Record(items=file, **fields).write(path)


def read_record(path: Path) -> Record | FailedRecord:
    """Read a record and compare it and its items with their checksums; every error names the file.

    A failed cell gives a FailedRecord, which the caller must handle.
    """
    record = read_record_numbers(path)
    if isinstance(record, Record):
        if problem := describe_alteration(path.with_name(record.items.file), record.items.sha256):
            raise UserError(problem)
        record.refuse_altered(path)
    return record


def read_complete_record(path: Path) -> Record:
    """Read a record; raise UserError if its cell failed."""
    record = read_record(path)
    if isinstance(record, FailedRecord):
        raise UserError(f"{path} is the record of a failed cell: {record.reason}")
    return record


def read_records(paths: Iterable[Path]) -> list[tuple[Path, Record]]:
    """Read records, with their paths; raise all problems together, and print and skip failed cells."""
    records, problems = [], []
    for path in paths:
        try:
            record = read_record(path)
        except UserError as error:
            problems += error.problems
            continue
        if isinstance(record, FailedRecord):
            print(f"{path} is the record of a failed cell and is skipped.")
        else:
            records.append((path, record))
    if problems:
        raise UserError(problems)
    return records


def read_record_numbers(path: Path) -> Record | FailedRecord:
    """Read a record without reading or checking its items."""
    with name_file_in_errors(path):
        fields = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(fields, dict) and list(fields) == ["broken"]:
            return FailedRecord.model_validate(fields["broken"])
        return Record.model_validate(fields)


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Raise every error of reading a file as a UserError that names the file."""
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


def _check_counts(path: Path, metrics: tuple[Metric, ...], items: list[Item]) -> None:
    """Raise UserError if a metric's `n` is not the number of its items."""
    counts = Counter((item.subset, item.condition) for item in items)
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
