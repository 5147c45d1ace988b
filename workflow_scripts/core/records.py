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
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from workflow_scripts.core.conditions import Condition
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import canonical_json, sha256_bytes, sha256_file, write_json
from workflow_scripts.core.items import Item, read_items, write_items

SHA256 = r"^[0-9a-f]{64}$"
ProtocolName = Literal[
    "direct", "few_shot", "train_before_test", "perplexity", "latency", "prompt_run"
]


class StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ModelFacts(StrictModel):
    id: str = Field(description="Checkpoint id: hub name, plan and stages")
    repository: str
    commit: str
    weights_sha256: str = Field(pattern=SHA256)
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
    shots: int = Field(ge=0)
    version: str | None = Field(default=None, description="The harness's version of the task")


class Protocol(StrictModel):
    name: ProtocolName
    dtype: str
    attention: str = Field(description="The attention that ran, not the one asked for")
    engine: str | None = Field(
        default=None,
        description="What ran the model: prefix sharing, or plain batches of batch_size and why",
    )
    batch_size: int = Field(ge=1)
    threads: int = Field(ge=1, description="CPU threads; sums on a CPU depend on their number")
    seed: int
    chat_template: bool = False
    max_items: int | None = None
    generation: dict[str, Any] = Field(default_factory=dict)


class Metric(StrictModel):
    name: str
    subset: str | None = Field(default=None, description="Null for the whole task")
    condition: Condition | None = Field(
        default=None, description="Null where nothing was varied within the measurement"
    )
    value: float
    stderr: float | None = Field(ge=0)
    n: int = Field(ge=1)
    best_constant: float | None = Field(description="The best that one fixed answer scores")
    chance: float | None = Field(description="What answering at random scores on average")


class ItemsFile(StrictModel):
    file: str = Field(pattern=r"^[^/\\]+$", description="Beside the record")
    sha256: str = Field(pattern=SHA256)
    n: int = Field(ge=1)


class Cost(StrictModel):
    tokens: int = Field(ge=0, description="Tokens run through the model, padding included")
    device: str


class TrainingFacts(StrictModel):
    """What the model was trained on before this measurement, and which state of it was taken."""

    keys: dict[str, Any] = Field(description="How: method, rate, epochs, caps, and so on")
    samples: int = Field(ge=1)
    held_out_samples: int = Field(ge=0, description="On which the state was chosen")
    held_out_split: str
    tokens: int = Field(ge=1)
    trained_parameters: int = Field(ge=1)
    selected: dict[str, Any]
    evaluations: tuple[dict[str, Any], ...] = Field(description="On the held-out samples")
    bad_samples: dict[str, Any] = Field(default_factory=dict)
    ran: dict[str, Any] | None = Field(
        default=None,
        description="What a GPU decided: how rows were packed, in which format; null on a CPU",
    )


class Provenance(StrictModel):
    code_commit: str | None
    settings_sha256: str = Field(pattern=SHA256, description="Of the request the step was given")
    packages: dict[str, str]


class Volatile(StrictModel):
    started: str
    finished: str
    seconds: float = Field(ge=0, description="Trainings that share steps count them each")
    host: str
    peak_memory_mb: int = Field(ge=0)
    peak_gpu_memory_mb: int | None = Field(default=None, description="Of the GPU that held most")
    devices: tuple[str, ...] = Field(
        default=(),
        description="Where times were taken: the first of these, or over several as many as there were",
    )
    stable_sha256: str | None = Field(
        default=None, pattern=SHA256, description="Of the record without this block"
    )


class Sealed(StrictModel):
    """A file that vouches for itself: its volatile block has the checksum of all else."""

    if TYPE_CHECKING:  # each kind says itself where the block stands among its fields
        volatile: Volatile

    def stable_bytes(self) -> bytes:
        """Without the volatile block: equal for two runs of the same measurement."""
        return canonical_json(self.model_dump(mode="json", exclude={"volatile"})).encode()

    def write(self, path: Path) -> Self:
        seal = {"stable_sha256": sha256_bytes(self.stable_bytes())}
        sealed = self.model_copy(update={"volatile": self.volatile.model_copy(update=seal)})
        write_json(path, sealed.model_dump(mode="json"))
        return sealed

    def refuse_altered(self, path: Path) -> None:
        if self.volatile.stable_sha256 != sha256_bytes(self.stable_bytes()):
            raise UserError(f"{path} was altered: it is not what its own sha256 says.")


class Record(Sealed):
    schema_version: Literal[3] = 3
    study: str
    request: dict[str, Any] = Field(description="Of the step, whole (settings.request)")
    model: ModelFacts
    task: TaskFacts
    protocol: Protocol
    metrics: tuple[Metric, ...] = Field(min_length=1)
    items: ItemsFile
    cost: Cost
    training: TrainingFacts | None = Field(default=None, description="Null for a model as it is")
    provenance: Provenance
    volatile: Volatile

    @model_validator(mode="after")
    def _metrics_are_named_once(self):
        counts = Counter((m.name, m.subset, m.condition) for m in self.metrics)
        if twice := [key for key, count in counts.items() if count > 1]:
            raise ValueError(f"the metric {twice[0][0]!r} (subset {twice[0][1]!r}) stands twice")
        return self


class Broken(StrictModel):
    """What stands in the place of a record whose cell failed: where, why, and the log that has more."""

    record: str
    reason: str
    log: str


def write_record(path: Path, items: list[Item], **fields) -> Record:
    """Write the items, then the record that vouches for them; refuse numbers that do not add up."""
    items_path = path.with_suffix(".parquet")
    _check_counts(path, fields["metrics"], [(item.subset, item.condition) for item in items])
    write_items(items_path, items)
    record = Record(
        items=ItemsFile(file=items_path.name, sha256=sha256_file(items_path), n=len(items)),
        **fields,
    )
    return record.write(path)


def read_record(path: Path) -> Record | Broken:
    """Read a record strictly and hold it against its items; every problem names the file.

    Of a cell that failed the answer is a Broken: whoever reads must say what becomes of it.
    """
    found = read_without_items(path)
    if isinstance(found, Record):
        _check_items(path, found)
    return found


def whole_record(path: Path) -> Record:
    """For whoever has just written it, or cannot do without it."""
    found = read_record(path)
    if isinstance(found, Broken):
        raise UserError(f"{path} is of a broken cell: {found.reason}")
    return found


def sort_records(paths: Iterable[Path]) -> tuple[list[tuple[Path, Record]], list[Broken]]:
    """The whole ones, each with its file, and the broken ones."""
    found = [(path, read_record(path)) for path in paths]
    whole = [(path, record) for path, record in found if isinstance(record, Record)]
    return whole, [record for _, record in found if isinstance(record, Broken)]


def read_without_items(path: Path) -> Record | Broken:
    """As read_record, for whoever needs the numbers alone: the items are neither read nor checked."""
    with problems_named(path):
        fields = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
        if isinstance(fields, dict) and list(fields) == ["broken"]:
            return Broken.model_validate(fields["broken"])
        return Record.model_validate(fields)


@contextmanager
def problems_named(path: Path) -> Iterator[None]:
    """While a file is read strictly: every problem names it."""
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
    if items_path.is_file() and sha256_file(items_path) != record.items.sha256:
        raise UserError(f"{items_path} was altered: its sha256 is not the one in {path}.")
    table = read_items(items_path)
    if table.num_rows != record.items.n:
        raise UserError(
            f"{items_path} has {table.num_rows} items; its record says {record.items.n}."
        )
    conditions = [
        None if found is None else Condition(**found)
        for found in table.column("condition").to_pylist()
    ]
    groups = list(zip(table.column("subset").to_pylist(), conditions, strict=True))
    _check_counts(path, record.metrics, groups)
    record.refuse_altered(path)


def _no_constant(name: str):
    raise ValueError(f"{name} is not a number")


def _check_counts(
    path: Path, metrics: tuple[Metric, ...], groups: list[tuple[str | None, Condition | None]]
) -> None:
    """A score speaks of all its items or it is refused; it is never quietly a zero."""
    of_subset = Counter(subset for subset, _ in groups)
    of_group = Counter(groups)
    problems = []
    for metric in metrics:
        if metric.condition is not None:
            expected = of_group[metric.subset, metric.condition]
        else:
            expected = len(groups) if metric.subset is None else of_subset[metric.subset]
        if metric.n != expected:
            where = f" of subset {metric.subset!r}" if metric.subset is not None else ""
            problems.append(
                f"{path}: the metric {metric.name!r}{where} has n = {metric.n}, but there are"
                f" {expected} items."
            )
    if problems:
        raise UserError(problems)
