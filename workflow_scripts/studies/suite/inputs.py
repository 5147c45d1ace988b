"""List the files that check the leaderboard's requests, and the inputs of the rows that the check accepts."""

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job_list import CHECKS, is_listing
from workflow_scripts.evaluation.cells import CellsRequest, build_harmony_cells, build_suite_cells
from workflow_scripts.miniature import catalogue
from workflow_scripts.settings.job_batches import TaskBatch, list_cell_records
from workflow_scripts.settings.leaderboard_submissions import GENERATED
from workflow_scripts.settings.settings import Settings
from workflow_scripts.studies.inputs import Inputs

# A commit without repeated groups of digits, which Snakemake would treat as a mistake.
_PLACEHOLDER_COMMIT = "9a3c5e1f7b2d4068ace13579bdf02468f1e0d2c3"


class SuiteInputs(Inputs):
    """The inputs of all rules, with those that depend on the check of the requests."""

    def __init__(self, settings: Settings, get_checks_file: Callable[[], str]):
        """`get_checks_file` returns the output of the checkpoint rule, and runs it if it has not run."""
        super().__init__(settings)
        self._get_checks_file = get_checks_file
        self.check_params = self._build_check_params()
        submissions = self.check_params["submissions"].values()
        self.metadata_files = list(chain.from_iterable(entry["sources"] for entry in submissions))

    def _build_check_params(self) -> dict[str, Any]:
        """Build the parameters of the check: the readable requests by file, why others are refused, and the rules."""
        settings = self._settings
        submissions = {}
        refused = dict(settings.refused_requests)
        for file, request in settings.requests.items():
            revisions = {request.checkpoint.model: request.revision}
            if request.base:
                revisions[request.base] = None
            unknown = [
                name
                for name in revisions
                if name.startswith(GENERATED)
                and name.removeprefix(GENERATED) not in catalogue.MODELS
            ]
            if unknown:
                refused[file] = f"there is no model {unknown[0]!r} in the miniature world."
                continue
            records = list_cell_records(settings, "suite", "few_shot", request.row)
            is_built = request.checkpoint.variant
            submissions[file] = {
                "sources": [self.get_metadata(*item) for item in revisions.items()],
                "request": request.model_dump(mode="json"),
                "row": request.row,
                "built": self.locate_checkpoint(request.checkpoint) if is_built else None,
                "records": {Path(record).stem: record for record in records},
            }
        return {
            "submissions": submissions,
            "refused": refused,
            "rules": {
                "memory_mb": settings.suite.memory_mb,
                "open_licences": list(settings.suite.open_licences),
                "on_gpu": settings.on_gpus,
            },
        }

    def _list_accepted(self) -> list[dict[str, Any]]:
        """Return the accepted requests, after the checkpoint rule has run; a listing of jobs does not run it."""
        if is_listing() and not CHECKS.exists():
            return self.accept_unchecked()
        entries = json.loads(Path(self._get_checks_file()).read_text(encoding="utf-8"))
        return [entry for entry in entries if not entry["reason"]]

    def accept_unchecked(self) -> list[dict[str, Any]]:
        """Accept every readable request, with a placeholder commit if it names none."""
        return [
            {"base_commit": _PLACEHOLDER_COMMIT}
            | entry
            | {"commit": entry["request"]["revision"] or _PLACEHOLDER_COMMIT}
            for entry in self.check_params["submissions"].values()
        ]

    def list_suite_records(self, wildcards) -> list[str]:
        """List the records of the rows with accepted requests."""
        if "suite" not in self.records:
            return []
        return [path for entry in self._list_accepted() for path in entry["records"].values()]

    def list_study_records(self, wildcards) -> list[str]:
        if wildcards.study == "suite":
            return self.list_suite_records(wildcards)
        return self.records.get(wildcards.study, [])

    def list_all_records(self, wildcards) -> list[str]:
        return [*chain(*self.records.values()), *self.list_suite_records(wildcards)]

    def _get_commit(self, wildcards, key: str) -> str:
        """Return the `commit` or `base_commit` of a row's accepted request."""
        (commit,) = {entry[key] for entry in self._list_accepted() if entry["row"] == wildcards.row}
        return commit

    def get_evaluated_model(self, wildcards) -> str:
        """Return the manifest of a cell's model; of a leaderboard row, at the commit that was checked."""
        if wildcards.get("row") is None:
            return self.get_checkpoint_manifest(wildcards)
        request = self._settings.suite_rows[wildcards.row]
        is_miniature = self._settings.source == "miniature"
        if is_miniature or request.is_local or request.checkpoint.variant:
            return self.locate_checkpoint(request.checkpoint)
        commit = self._get_commit(wildcards, "commit")
        return self.get_manifest("model", f"{request.name}@{commit}")

    def _get_base(self, wildcards) -> str | None:
        """Return the name of a delta's base, at the commit that was checked; None for other models."""
        row = wildcards.get("row")
        base = self._settings.suite_rows[row].base if row else None
        if base is None or self._settings.source == "miniature":
            return base
        return f"{base}@{self._get_commit(wildcards, 'base_commit')}"

    def list_base_manifests(self, wildcards) -> list[str]:
        base = self._get_base(wildcards)
        return [self.get_manifest("model", base)] if base else []

    def build_cells(self, batch: TaskBatch, wildcards) -> CellsRequest:
        """Build the request of a job that evaluates a batch of tasks; a leaderboard row has its own."""
        settings, protocol, tasks = self._settings, batch.protocol, batch.tasks
        if batch.study == "harmony":
            return build_harmony_cells(settings, protocol, tasks)
        request = settings.suite_rows[wildcards.row]
        return build_suite_cells(settings, request, protocol, tasks, self._get_base(wildcards))

    def list_cell_datasets(self, batch: TaskBatch, wildcards) -> list[str]:
        rows = self._settings.tasks
        return self.list_datasets(dict.fromkeys(rows[task].dataset for task in batch.tasks))

    def get_cell_params(self, batch: TaskBatch, wildcards) -> dict[str, Any]:
        return self.build_cells(batch, wildcards).to_params()
