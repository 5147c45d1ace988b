"""The folder that a run is shared as, and the same in one archive: whole, or not there."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

from tqdm import tqdm

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_dir, atomic_path, write_text
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.paper.requests import Share
from workflow_scripts.paper.share.crate import write_crate
from workflow_scripts.paper.share.every_eval_ever import write_evaluation
from workflow_scripts.paper.share.hub_files import write_hub_files
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.scores.tidy import whole_records
from workflow_scripts.settings.imports import SHARED_SCORES

_RECORDS = "results/records"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first day that a zip file knows
_README = """\
# Results of a run of Chorus

| what | where |
|---|---|
| records, each with its items | `records` |
| the same as JSON of Every Eval Ever 0.3.0; Chorus reads a folder of `data` back by `imports` | `every_eval_ever` |
| files for the models' repositories on the hub; `+train_before_test` has scores of trained weights | `hub` |
| all scores in one table | `scores.csv` |
| tables and figures | `tables`, `figures` |
| config, versions, commits, machines, cells that broke | `provenance.json` |
| the workflow | `workflow` |
| what each file is, as a Workflow Run RO-Crate | `ro-crate-metadata.json` |
"""


def share(inputs: Inputs, request: dict[str, Any], outputs: dict[str, Path]) -> None:
    asked = Share.of(request)
    records = whole_records(inputs["records"])
    if not records:
        raise UserError(
            "There is no record to share; expected a config that measures something, and a cell that is not broken."
        )
    known = {one.model: one for one in asked.models}
    with atomic_dir(outputs["folder"]) as folder:
        for path, record in tqdm(records, "sharing records"):
            for file in (path, path.with_name(record.items.file)):
                inside = file.relative_to(_RECORDS) if file.is_relative_to(_RECORDS) else file.name
                _copy(file, folder / "records" / inside)
            if record.protocol.name != "latency":  # a time, and no evaluation
                base = known.get(CheckpointId.parse(record.model.id).model)
                write_evaluation(path, record, base, folder / SHARED_SCORES)
        write_hub_files([record for _, record in records], folder / "hub")
        files = {"README.md": "What lies where."}
        write_text(folder / "README.md", _README)
        for path in inputs["products"]:
            name = path.relative_to("results").as_posix()
            files[name] = asked.sentences[path.as_posix()]
            _copy(path, folder / name)
        files |= {
            "scores.csv": "All scores in one table.",
            "provenance.json": "Config and versions.",
        }
        _copy(inputs.one("scores"), folder / "scores.csv")
        _copy(inputs.one("provenance"), folder / "provenance.json")
        for path in inputs["workflow"]:
            name = f"workflow/{path.relative_to(asked.workflow_folder).as_posix()}"
            files[name] = "Rules of the workflow."
            _copy(path, folder / name)
        write_crate(folder, files, [record for _, record in records])
        with atomic_path(outputs["archive"]) as archive:
            write_archive(folder, archive)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def write_archive(folder: Path, target: Path) -> None:
    """Names in order, and nothing of when or by whom: the same files give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            about = zipfile.ZipInfo(name + "/" * path.is_dir(), _EPOCH)
            about.external_attr = (0o755 if path.is_dir() else 0o644) << 16
            if path.is_dir():
                archive.writestr(about, b"")
                continue
            about.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as source, archive.open(about, "w", force_zip64=True) as inside:
                shutil.copyfileobj(source, inside)
