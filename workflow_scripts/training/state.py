"""The folder with the checkpoints that a training resumes from.

It lies beside the declared output and is declared nowhere, so Snakemake never removes it. A checkpoint counts
only with its seal, which is written last and names each file by size and checksum: what a kill left half written
is removed. The folder belongs to one training; nothing is taken over from one with other settings, data or weights.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from transformers import TrainerState
from transformers.trainer import TRAINER_STATE_NAME

from workflow_scripts.core.files import read_json, sha256_file, sha256_json, write_json

_SEAL, _OWNER, _MEMORY = "seal.json", "training.json", "memory.json"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")


class StateFolder:
    def __init__(self, path: Path, belongs_to: dict[str, Any]):
        self.path = path
        owner = {"training": sha256_json(belongs_to)}
        if read_json(path / _OWNER) != owner:
            if path.exists():
                print("The state is of another training, with other settings: starting again.")
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
            write_json(path / _OWNER, owner)

    def checkpoint(self, step: int) -> Path:
        return self.path / f"checkpoint-{step}"

    def latest(self) -> Path | None:
        """Return the newest valid checkpoint, and remove those that are not.

        The best state before it must be valid too, because no later one can replace it.
        """
        for step in reversed(self._steps()):
            folder = self.checkpoint(step)
            if is_sealed(folder) and is_sealed(self.checkpoint(best_step(folder) or step)):
                return folder
            print(f"{folder.name} is not valid: removed.", flush=True)
            shutil.rmtree(folder)
        return None

    def seal(self, step: int) -> None:
        """Write the seal of a checkpoint, and remove all but the last two and the best."""
        folder = self.checkpoint(step)
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        write_json(
            folder / _SEAL,
            {
                str(path.relative_to(folder)): [path.stat().st_size, sha256_file(path)]
                for path in files
                if path.name != _SEAL
            },
        )
        for old in self._steps()[:-2]:
            if old != best_step(folder):
                shutil.rmtree(self.checkpoint(old))

    @property
    def memory(self) -> dict[str, Any]:
        """What had to be changed because memory ran out: micro_batch_size, gradient_checkpointing."""
        return read_json(self.path / _MEMORY) or {}

    @memory.setter
    def memory(self, changes: dict[str, Any]) -> None:
        write_json(self.path / _MEMORY, changes)

    def _steps(self) -> list[int]:
        names = (_CHECKPOINT.fullmatch(path.name) for path in self.path.iterdir())
        return sorted(int(name[1]) for name in names if name)


def read_trainer_state(checkpoint: Path) -> TrainerState:
    return TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))


def best_step(checkpoint: Path) -> int | None:
    """Return the step of the best evaluation so far, where one selects."""
    path = checkpoint / TRAINER_STATE_NAME
    return read_trainer_state(checkpoint).best_global_step if path.exists() else None


def is_sealed(folder: Path) -> bool:
    """Return whether all files of a checkpoint are as they were written."""
    seal = read_json(folder / _SEAL)
    return isinstance(seal, dict) and all(
        (path := folder / name).is_file()
        and path.stat().st_size == size
        and sha256_file(path) == sha256
        for name, (size, sha256) in seal.items()
    )
