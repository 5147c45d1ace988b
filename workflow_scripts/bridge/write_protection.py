"""Which outputs are write-protected, asked of the disk.

Snakemake asks what it read when it began to plan. Where a run is under way in the same folder, its jobs
remove what they make again, and a dry run, a plan or a second run would be told that these files are
write-protected: somebody would look for permissions, where the word is that the folder is in use.
"""

import os
from pathlib import Path


def ask_the_disk_what_is_protected() -> None:
    """From now on, in this process."""
    from snakemake.io import _IOFile

    _IOFile.protected = _is_protected


async def _is_protected(file) -> bool:
    # Writable first, there second: what vanishes between the two questions is not protected.
    path = Path(file.file)
    return not os.access(path, os.W_OK) and path.exists() and not path.is_symlink()
