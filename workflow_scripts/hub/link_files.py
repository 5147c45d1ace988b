"""One file in two folders, without copying where the disk can link."""

import os
import shutil
from pathlib import Path


def link_or_copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # What the hub folder links to, where it is itself made of links.
    original = source.resolve()
    try:
        os.link(original, target)
    except OSError:
        shutil.copyfile(original, target)
