"""Results of others as rows of the leaderboard: those that were asked with its shots."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workflow_scripts.scores.foreign.cells import ImportedCell, cells_of, told
from workflow_scripts.studies.suite.table_requests import ShownTask


def imported_entries(folders: Sequence[Path], tasks: Sequence[ShownTask]) -> list[dict[str, Any]]:
    """As check_requests writes accepted ones, without records; `origin` is the name of their scores' study."""
    shots = {one.task: one.shots for one in tasks}
    rows: dict[tuple[str, str, str, str], list[ImportedCell]] = {}
    for origin, cells in cells_of(folders).items():
        for one in cells:
            as_asked = one.shots == shots.get(one.task)
            # What was trained or cut is no model that anyone else has.
            if as_asked and one.protocol != "train_before_test" and not one.variant:
                key = origin, one.model, one.dtype or "", one.commit or ""
                rows.setdefault(key, []).append(one)
    return [
        {
            "origin": origin,
            "file": f"{origin}/{found[0].file}",
            "row": f"{origin}/{found[0].file}",
            "commit": commit,
            "parameters": found[0].parameters,
            "licence": None,
            "reason": None,
            "records": {},
            "request": {
                "name": model,
                "precision": dtype,
                "protocol": "few_shot",
                "model_type": None,
                "weight_type": None,
                "note": " ".join(told(found)),
            },
        }
        for (origin, model, dtype, commit), found in rows.items()
    ]
