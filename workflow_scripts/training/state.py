"""The folder that a training keeps its state in, to resume from after any end.

It lies beside the declared output and is declared nowhere, so Snakemake never removes it. A saved
state counts only with its seal, which is written last and names each file by size and checksum: what
a kill left half written is passed over and removed. The folder belongs to one training; of another
one, with other settings, data or weights, nothing is taken over.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import read_json, sha256_file, sha256_json, write_json

_SEAL, _OWNER, _LARGEST = "seal.json", "training.json", "micro_batch.json"
_RAN_OUT = "ran_out.json"
_SAVED = re.compile(r"checkpoint-(\d+)")


class StateFolder:
    def __init__(self, path: Path, belongs_to: dict[str, Any]):
        self.path = path
        owner = {"training": sha256_json(belongs_to)}
        if read_json(path / _OWNER) != owner:
            if path.exists():
                print(
                    "The state found is of another training, with other settings; starting from the beginning."
                )
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
            write_json(path / _OWNER, owner)

    def latest(self) -> Path | None:
        """The newest whole state; broken ones are removed."""
        for folder in sorted(self._saved(), key=step_of, reverse=True):
            if is_sealed(folder):
                return folder
            print(f"{folder.name} is not whole: passed over and removed.")
            shutil.rmtree(folder)
        return None

    def take_over(self, other: Path) -> None:
        """What another training ended with; where that is not whole, this one starts from the beginning."""
        for folder in other.glob("checkpoint-*") if other.is_dir() else ():
            shutil.copytree(folder, self.path / folder.name)

    def forget(self, why: str) -> None:
        """Begin at the beginning; what memory has turned out to allow stays known."""
        print(f"{why}: starting from the beginning.", flush=True)
        # What a kill leaves of this still tells why: the states go before what they cannot go on without.
        for folder in self._saved():
            shutil.rmtree(folder)
        for path in self.path.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in (_OWNER, _LARGEST):
                path.unlink()

    def seal(self, step: int) -> None:
        """Vouch for the state of this step, and remove all but the one before."""
        folder = self.path / f"checkpoint-{step}"
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        write_json(
            folder / _SEAL,
            {
                str(path.relative_to(folder)): [path.stat().st_size, sha256_file(path)]
                for path in files
                if path.name != _SEAL
            },
        )
        for old in sorted(self._saved(), key=step_of)[:-2]:
            shutil.rmtree(old)

    @property
    def largest_batch(self) -> int | None:
        """What memory has turned out to allow: samples, or tokens in a row of several trainings."""
        return read_json(self.path / _LARGEST)

    @largest_batch.setter
    def largest_batch(self, size: int) -> None:
        write_json(self.path / _LARGEST, size)

    def may_try_again(self) -> bool:
        """After memory has run out: whether it had not since the last state that was saved.

        Then it may have been another's, or in pieces. Twice from the same state is no accident.
        """
        step = max((step_of(one) for one in self._saved() if is_sealed(one)), default=0)
        before = read_json(self.path / _RAN_OUT)
        write_json(self.path / _RAN_OUT, step)
        return before is None or step > before

    def _saved(self) -> list[Path]:
        return [path for path in self.path.iterdir() if _SAVED.fullmatch(path.name)]


def is_sealed(folder: Path) -> bool:
    seal = read_json(folder / _SEAL)
    return isinstance(seal, dict) and all(
        (path := folder / name).is_file()
        and path.stat().st_size == size
        and sha256_file(path) == sha256
        for name, (size, sha256) in seal.items()
    )


def step_of(folder: Path) -> int:
    saved = _SAVED.fullmatch(folder.name)
    assert saved is not None, folder
    return int(saved[1])
