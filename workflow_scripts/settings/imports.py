"""Folders that other people's harnesses wrote into: what each is called, and when one has changed."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from workflow_scripts.core.files import sha256_json
from workflow_scripts.settings.names import Folder, find_folder
from workflow_scripts.settings.section import Listed

_OURS = ("harmony", "corpora", "own")


def import_name(folder: str) -> str:
    """The last part of its path, by which its scores are told from others, as a name for files."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", Path(folder).name).strip("._-") or "imported"


def paths_in(folder: Path) -> list[Path]:
    """All that lies below it; a link in it to a folder is entered, and none further down, which might lead back."""
    links = (one for one in folder.glob("*") if one.is_symlink() and one.is_dir())
    return sorted(path for top in (folder, *links) for path in top.rglob("*"))


def import_stamp(folder: str, workflow_folder: Path) -> str:
    """Another one when a file in it is: of their paths, sizes and times."""
    found = find_folder(folder, workflow_folder) or Path(folder)
    there = [path for path in paths_in(found) if path.exists()]
    stats = {path.relative_to(found).as_posix(): path.stat() for path in there}
    return sha256_json({name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats.items()})


def _names_of_their_own(folders: tuple[str, ...]) -> tuple[str, ...]:
    seen = dict.fromkeys(_OURS, "our own")
    for folder in folders:
        name = import_name(folder)
        if name in seen:
            raise ValueError(
                f"the scores of {folder!r} would be called {name!r}, as are those of {seen[name]}; expected"
                " folders with different last parts."
            )
        seen[name] = folder
    return folders


Imports = Annotated[Listed[Folder], AfterValidator(_names_of_their_own)]
