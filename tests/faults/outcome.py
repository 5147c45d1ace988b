"""What kills cost: files that differ from an undisturbed run, and records that are half written."""

from dataclasses import dataclass, field
from pathlib import Path

from tests.results import results_of
from workflow_scripts.core.records import read_record


@dataclass
class Outcome:
    """Kills, the runs that they were in, and what was lost."""

    kills: int = 0
    runs: int = 0
    lost: list[str] = field(default_factory=list)


def differences(folder: Path, expected: dict[str, bytes]) -> list[str]:
    found = results_of(folder)
    return [
        f"{path} differs"
        for path in sorted(found.keys() | expected.keys())
        if found.get(path) != expected.get(path)
    ]


def half_written(folder: Path) -> list[str]:
    """Records must be whole or absent, whenever one looks."""
    problems = []
    for path in (folder / "results/records").rglob("*.json"):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        try:
            read_record(path)
        except Exception as error:
            problems.append(f"{path.name} is half written: {error}")
    return problems
