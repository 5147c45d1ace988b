"""Store the checkpoints from which a training resumes.

Their folder is next to the declared output but not declared, so Snakemake never removes it. A checkpoint is valid only
with its seal, a list of the files' checksums that is written last; a partly written checkpoint is removed. The folder
belongs to one training, and is discarded if settings, data or weights differ.
"""

import shutil
from pathlib import Path
from typing import Any

from transformers import TrainerState
from transformers.trainer import TRAINER_STATE_NAME

from workflow_scripts.core.files import (
    describe_alteration,
    hash_file,
    hash_json,
    read_json,
    write_json,
)

_SEAL, _OWNER = "seal.json", "training.json"


class StateFolder:
    """The checkpoints of one training."""

    def __init__(self, path: Path, fingerprint: dict[str, Any]):
        self.path = path
        owner = {"training": hash_json(fingerprint)}
        if read_json(path / _OWNER) != owner:
            if path.exists():
                print("The saved state is of a training with other settings; starting again.")
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
            write_json(path / _OWNER, owner)

    def get_checkpoint(self, step: int) -> Path:
        return self.path / f"checkpoint-{step}"

    def find_latest(self) -> Path | None:
        """Return the newest valid checkpoint, or None, and remove newer invalid ones.

        The best earlier checkpoint that it names must be valid too, because later ones lack its weights.
        """
        steps = [int(path.name.partition("-")[2]) for path in self.path.glob("checkpoint-*")]
        for folder in map(self.get_checkpoint, sorted(steps, reverse=True)):
            if is_sealed(folder):
                best = read_trainer_state(folder).best_global_step
                if best is None or is_sealed(self.get_checkpoint(best)):
                    return folder
            print(f"{folder.name} is not valid: removed.", flush=True)
            shutil.rmtree(folder)
        return None

    def seal(self, step: int) -> None:
        """Write the seal of a checkpoint: the checksums of its files."""
        folder = self.get_checkpoint(step)
        files = [path for path in sorted(folder.iterdir()) if path.name != _SEAL]
        write_json(folder / _SEAL, {path.name: hash_file(path) for path in files})


def read_trainer_state(checkpoint: Path) -> TrainerState:
    return TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))


def is_sealed(folder: Path) -> bool:
    """Return whether a checkpoint has a seal and all its files are unaltered."""
    seal = read_json(folder / _SEAL)
    return seal is not None and not any(
        describe_alteration(folder / name, seal[name]) for name in seal
    )
