"""Read and write the record of one training run: checkpoint, data, loss curve and speed."""

from pathlib import Path
from typing import Any, Literal

from workflow_scripts.core.records import (
    ChecksummedModel,
    ModelFacts,
    Provenance,
    RunMetadata,
    StrictModel,
    name_file_in_errors,
)


class TrainingStep(StrictModel):
    """An optimiser step, or an evaluation after it."""

    step: int
    epoch: float
    loss: float | None = None
    learning_rate: float | None = None
    grad_norm: float | None = None
    held_out: dict[str, float] | None = None


class TrainingSpeed(StrictModel):
    """Speed since the last resume, or since the start of training."""

    went_on_from_step: int
    seconds: float  # with evaluations
    tokens_per_second: float | None  # without padding


class TrainingRecord(ChecksummedModel):
    schema_version: Literal[2] = 2
    base: ModelFacts
    trained: ModelFacts
    request: dict[str, Any]  # all parameters of the stage
    data: dict[str, Any]  # source, samples, tokens, bad samples by kind
    report: dict[str, Any]  # trained parameters, dtype, attention
    facts: dict[str, Any]  # steps, samples, tokens
    selected: dict[str, Any]
    curve: tuple[TrainingStep, ...]
    provenance: Provenance
    volatile: RunMetadata
    speed: TrainingSpeed

    @property
    def recipe(self) -> str:
        return self.request["recipe"]


def build_curve(history: list[dict[str, float]]) -> tuple[TrainingStep, ...]:
    """Build the curve from a Trainer's log history, with `eval_` metrics as held-out metrics."""
    steps = []
    for entry in history:
        held_out = {k.removeprefix("eval_"): v for k, v in entry.items() if k.startswith("eval_")}
        fields = {k: v for k, v in entry.items() if not k.startswith("eval_")}
        steps.append(TrainingStep(**fields, held_out=held_out or None))
    return tuple(steps)


def read_training_record(path: Path) -> TrainingRecord:
    """Read a training record; raise UserError if it is invalid or was altered."""
    with name_file_in_errors(path):
        record = TrainingRecord.model_validate_json(path.read_text(encoding="utf-8"))
    record.refuse_altered(path)
    return record
