"""What a group of trainings keeps on the disk: the state of all that still train, and what came of the others."""

import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import TrainerState

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import (
    atomic_path,
    is_altered,
    read_sealed,
    sha256_file,
    write_sealed,
    write_text,
)
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.selection import is_best_whole
from workflow_scripts.training.state import StateFolder, step_of
from workflow_scripts.training.together.learner import Learner
from workflow_scripts.training.trained import Trained

_LEARNERS = "learners.json"
_OUTCOME, _TENSORS = "outcome.json", "outcome.safetensors"
_KEPT = ("max_steps", "global_step", "epoch", "log_history")
# Of what came of a training, all but its tensors and the keys.
_TOLD = ("report", "history", "selected", "facts", "speed", "together")


class Saved(StateFolder):
    """All that train are saved together: they go on side by side, and so to the same bytes."""

    def __init__(self, path: Path, belongs_to: dict[str, Any]):
        super().__init__(path, belongs_to)
        self.step, self._begun = 0, {}
        self.waiting: list[str] | None = None
        if (latest := self.latest()) is not None:
            print(f"Going on from {latest.name}.", flush=True)
            found = json.loads((latest / _LEARNERS).read_text(encoding="utf-8"))
            self.step, self.waiting, self._begun = step_of(latest), found["waiting"], found["begun"]
            self._latest = latest
            names = set(belongs_to["lessons"])
            if not all(map(self._is_whole, names)):
                self.forget("What was kept of a training is not whole")
                self.step, self.waiting, self._begun = 0, None, {}

    @property
    def slots(self) -> dict[str, int]:
        """Who was training, and in which slot."""
        return {name: about["slot"] for name, about in self._begun.items()}

    def bring_back(self, learner: Learner) -> None:
        about = self._begun[learner.lesson.name]
        tensors = load_file(self._latest / f"{learner.slot}.safetensors")
        learner.go_on_from(TrainerState(**about["state"]), tensors)

    def save(self, step: int, learners: list[Learner], waiting: list[str]) -> None:
        folder = self.path / f"checkpoint-{step}"
        folder.mkdir(exist_ok=True)
        for learner in learners:
            save_file(learner.tensors(), folder / f"{learner.slot}.safetensors")
        begun = {
            learner.lesson.name: {
                "slot": learner.slot,
                "state": {name: getattr(learner.state, name) for name in _KEPT},
            }
            for learner in learners
        }
        write_text(folder / _LEARNERS, json.dumps({"waiting": waiting, "begun": begun}))
        self.seal(step)

    def folder_of(self, name: str) -> Path:
        """Where the best state of a training lies, and what came of it."""
        folder = self.path / name
        folder.mkdir(exist_ok=True)
        return folder

    def _is_whole(self, name: str) -> bool:
        """Of one that has ended, what came of it; of one that still trains, its best state."""
        folder, going_on = self.path / name, [*(self.waiting or ()), *self._begun]
        if name in going_on:
            return is_best_whole(folder)
        told = read_sealed(folder / _OUTCOME)
        tensors = folder / _TENSORS
        return told is not None and ("broken" in told or not is_altered(tensors, told["sha256"]))

    def keep(self, name: str, outcome: Trained | Exception) -> None:
        """Until its test is done; tensors first, since what is told vouches for them."""
        folder = self.folder_of(name)
        if isinstance(outcome, Exception):
            plain = isinstance(outcome, UserError)
            reason = str(outcome) if plain else f"{type(outcome).__name__}: {outcome}"
            write_sealed(folder / _OUTCOME, {"broken": reason})
            return
        with atomic_path(folder / _TENSORS) as temporary:
            save_file(outcome.parameters, temporary)
        told = {name: getattr(outcome, name) for name in _TOLD}
        write_sealed(folder / _OUTCOME, told | {"sha256": sha256_file(folder / _TENSORS)})

    def outcome_of(self, name: str, keys: TrainingKeys) -> Trained | Exception:
        folder = self.folder_of(name)
        told = read_sealed(folder / _OUTCOME)
        if "broken" in told:
            return UserError(told["broken"])
        tensors: dict[str, Tensor] = load_file(folder / _TENSORS)
        return Trained(parameters=tensors, keys=keys, **{name: told[name] for name in _TOLD})
