"""Hard-link a file into another folder, or copy it where the disk cannot link."""

import os
import shutil
from pathlib import Path


def link_or_copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # The hub folder may itself consist of symbolic links.
    original = source.resolve()
    try:
        os.link(original, target)
    except OSError:
        shutil.copyfile(original, target)
