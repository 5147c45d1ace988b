"""Name the folders of imported results, and detect their changes."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from workflow_scripts.core.files import hash_json
from workflow_scripts.settings.names import Folder
from workflow_scripts.settings.section import Listed

_RESERVED_NAMES = ("harmony", "corpora", "own")


def get_import_name(folder: str) -> str:
    """Return the name of the folder's scores: the last part of its path, safe for file names."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", Path(folder).name).strip("._-") or "imported"


def list_imported_paths(folder: Path) -> list[Path]:
    """List all paths below a folder; only links directly in it are followed, because deeper ones may form a loop."""
    links = [path for path in folder.glob("*") if path.is_symlink() and path.is_dir()]
    return sorted(path for top in (folder, *links) for path in top.rglob("*"))


def hash_imported_files(folder: str) -> str:
    """Hash the paths and modification times of a folder's files, to detect changes."""
    paths = [path for path in list_imported_paths(Path(folder)) if path.exists()]
    return hash_json([[str(path), path.stat().st_mtime_ns] for path in paths])


def _refuse_shared_names(folders: tuple[str, ...]) -> tuple[str, ...]:
    names = [*_RESERVED_NAMES, *map(get_import_name, folders)]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two studies or folders would have the name {name!r}")
    return folders


Imports = Annotated[Listed[Folder], AfterValidator(_refuse_shared_names)]
