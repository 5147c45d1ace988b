"""Run the golden config with the workflow of a commit, or of the working tree, and collect its tables."""

import csv
import io
import platform
import re
import shutil
import subprocess
import tarfile
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from tests.golden.compare import Difference, compare_folders, round_cell
from tests.workflow.snakemake import build_command, run_for

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PARTS: dict[str, dict[str, list[str]]] = yaml.safe_load((HERE / "tables.yaml").read_text())
MOVED: dict[str, str] = yaml.safe_load((HERE / "moved.yaml").read_text())
# Sums are reproducible on one thread.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
VENDORS = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}


def read_base() -> str:
    return (HERE / "base.txt").read_text().strip()


def name_processor(cpuinfo: str) -> str:
    """Return the CPU's vendor, family and model, as in intel-6-143."""
    values = dict(re.findall(r"^(vendor_id|cpu family|model)\s*: (.*)$", cpuinfo, re.M))
    if len(values) < 3:
        return platform.machine()
    vendor = values["vendor_id"]
    return f"{VENDORS.get(vendor, vendor)}-{values['cpu family']}-{values['model']}"


def find_reference_folder(part: str) -> Path:
    """Return the folder of a part's reference numbers; it may not exist."""
    if part == "published":
        return HERE / part
    cpuinfo = Path("/proc/cpuinfo")
    return HERE / name_processor(cpuinfo.read_text() if cpuinfo.exists() else "")


def keep_tables(part: str, tables: Path) -> Path:
    """Store a part's tables as the reference, and return their folder."""
    folder = find_reference_folder(part)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in sorted(tables.glob("*.csv")):
        rows = [
            [round_cell(cell) for cell in row]
            for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8")))
        ]
        with (folder / path.name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    return folder


def drop_other_processors() -> list[str]:
    """Remove the reference numbers of other CPU models, and return the names of these models."""
    folders = [path.parent for path in HERE.glob("*/scores.csv")]
    stale = [folder for folder in folders if folder != find_reference_folder("measured")]
    for folder in stale:
        shutil.rmtree(folder)
    return [folder.name for folder in stale]


def compare_part(part: str, before: Path, after: Path) -> list[Difference]:
    return compare_folders(before, after, PARTS[part])


def extract_commit(commit: str, folder: Path) -> None:
    """Write the files of a commit into a folder."""
    archive = subprocess.run(
        ["git", "archive", "--format=tar", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True
    )
    if archive.returncode:
        raise ValueError(
            f"{commit} is no commit of this clone; expected one that `git rev-parse` knows. In a"
            " shallow clone, `git fetch --unshallow` fetches the older ones."
        )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")


def run_commit(commit: str, part: str, tables: Path) -> float:
    """Make a part's tables with the workflow of a commit; return the seconds."""
    with TemporaryDirectory(prefix="golden-") as tree:
        extract_commit(commit, Path(tree))
        return run_workflow(Path(tree), part, tables)


def run_workflow(tree: Path, part: str, tables: Path) -> float:
    """Run a source tree's workflow in a temporary folder and copy a part's tables; return the seconds."""
    sources = {name: f"results/tables/{name}.csv" for name in PARTS[part]}
    if "scores" in sources:
        sources["scores"] = "results/scores.csv"
    with TemporaryDirectory(prefix="golden-") as name:
        folder = Path(name)
        shutil.copy(HERE / "config.yaml", folder)
        shutil.copytree(HERE / "requests", folder / "requests")
        started = time.monotonic()
        arguments = ["--configfile", "config.yaml", "--", *sources.values()]
        command = build_command(folder, *arguments, snakefile=tree / "Snakefile")
        result = run_for(folder, *command, TMPDIR=name, PYTHONPATH="", **ONE_THREAD)
        seconds = time.monotonic() - started
        if result.returncode:
            raise RuntimeError(f"The run of {tree} failed:\n{result.stdout}{result.stderr}")
        tables.mkdir(parents=True)
        for table, source in sources.items():
            shutil.copy(folder / source, tables / f"{table}.csv")
    return seconds
