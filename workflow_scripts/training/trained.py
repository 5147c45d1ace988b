"""What comes of a training, and how fast it went."""

from dataclasses import dataclass, field
from typing import Any

import torch

from workflow_scripts.core.records import TrainingFacts
from workflow_scripts.planning.device import TRAINING_FLOPS
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.precision import peak_flops
from workflow_scripts.training.trainer import PackedTrainer
from workflow_scripts.training.watching import Progress


@dataclass(frozen=True)
class Trained:
    """What came of a training; `model` holds the selected state, adapters not yet merged."""

    parameters: dict[str, torch.Tensor]  # those that were trained, as selected
    keys: TrainingKeys
    report: dict[str, Any]
    history: list[dict[str, float]]  # one entry a step, and one an evaluation
    selected: dict[str, Any]
    facts: dict[str, Any]  # the same for each run of this training
    speed: dict[str, Any] = field(default_factory=dict)  # and what differs
    model: Any = None

    @property
    def ran(self) -> dict[str, Any] | None:
        if self.report["device"] == "cpu":
            return None
        names = ("packing", "attention", "precision", "gradient_checkpointing")
        return {name: self.report[name] for name in names}

    def as_fact(self, held_out_split: str, **more: Any) -> TrainingFacts:
        """For the record of a measurement that this training came before."""
        evaluations = [e for e in self.history if any(name.startswith("eval_") for name in e)]
        return TrainingFacts(
            keys=self.keys.model_dump(mode="json") | more.pop("protocol", {}),
            samples=self.facts["samples"],
            held_out_split=held_out_split,
            tokens=self.facts["tokens"],
            trained_parameters=self.report["trained_parameters"],
            selected=self.selected,
            evaluations=tuple(evaluations),
            ran=self.ran,
            **{"held_out_samples": self.facts["held_out_samples"]} | more,
        )


def measure_speed(tokens: int, progress: Progress, trainer: PackedTrainer) -> dict[str, Any]:
    per_second = tokens / progress.step_seconds if progress.step_seconds else None
    use, peak = None, peak_flops(trainer.model.device)
    if peak and per_second:
        parameters = sum(p.numel() for p in trainer.model.parameters())
        use = TRAINING_FLOPS * parameters * per_second / peak / trainer.args.world_size
    return {
        "went_on_from_step": progress.first_step,
        "step_seconds": round(progress.step_seconds, 3),
        "tokens_per_second": per_second and round(per_second, 1),
        "model_flop_use": use and round(use, 4),
    }
