"""The input files of a table or a figure, by the names that its rule gives them."""

from collections.abc import Iterator, Mapping
from pathlib import Path


class Inputs(Mapping[str, list[Path]]):
    """Each name has a list of paths; `one` is for a name that stands for a single file."""

    def __init__(self, files: Mapping[str, str | Path | list[str | Path]]):
        self._files = {
            name: [Path(path) for path in (paths if isinstance(paths, list) else [paths])]
            for name, paths in files.items()
        }

    def __getitem__(self, name: str) -> list[Path]:
        return self._files[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def one(self, name: str) -> Path:
        (path,) = self._files[name]
        return path
