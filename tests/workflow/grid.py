"""Run a reduced demo grid: once undisturbed, and again on Slurm or with injected faults."""

import shutil
import time
from contextlib import suppress
from pathlib import Path

from tests.workflow.snakemake import start_snakemake

GRID = ["--configfile", str(Path(__file__).with_suffix(".yaml"))]
TARGETS = ["results/tables/harmony_scores.md", "results/tables/harmony_leaderboard.md"]
# Tokens in the environment of every run; tests check that no file contains them.
TOKENS = {
    name: f"hf_Planted{name.replace('_', '')}0123456789"
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_TOKEN", "WANDB_API_KEY")
}


def make_grid(folder: Path) -> Path:
    """Run the grid, and write the command lines of all processes during the run into argument_lists.txt."""
    argument_lists = set()
    process = start_snakemake(folder, *TARGETS, *GRID, **TOKENS)
    try:
        while process.poll() is None:
            argument_lists |= _list_arguments()
            time.sleep(0.2)
    finally:
        process.kill()
    assert process.wait() == 0, (folder / "snakemake.out").read_text()
    (folder / "argument_lists.txt").write_text("\n".join(sorted(argument_lists)))
    return folder


def copy_hub(finished: Path, folder: Path) -> Path:
    """Copy the hub folder, the requests and Snakemake's metadata of a finished run, without results."""
    folder.mkdir(exist_ok=True)
    for name in (".snakemake", "resources", "requests"):
        if (finished / name).is_dir():
            shutil.copytree(finished / name, folder / name)
    return folder


def list_token_files(folder: Path) -> list[Path]:
    tokens = [token.encode() for token in TOKENS.values()]
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and any(token in path.read_bytes() for token in tokens)
    ]


def _list_arguments() -> set[str]:
    argument_lists = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            argument_lists.add(path.read_bytes().decode(errors="replace").replace("\0", " "))
    return argument_lists
