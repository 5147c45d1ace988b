"""Read the files of prompt runs; every error message names the file and the key."""

import re
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError, format_suggestion
from workflow_scripts.settings.error_messages import validate
from workflow_scripts.settings.names import ROOT
from workflow_scripts.settings.prompts.section import FOLDER, Prompts
from workflow_scripts.settings.prompts.spec import NOT_INHERITED, PromptRun
from workflow_scripts.settings.yaml_files import find_yaml_files, read_yaml

_NAME = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")


def find_runs(folder: str) -> dict[str, Path]:
    """Find the file of each run by name, sorted with run2 before run10."""
    files = find_yaml_files(ROOT / FOLDER, Path(folder))
    return {name: files[name] for name in sorted(files, key=_split_numbers)}


def _split_numbers(name: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def read_prompt_runs(prompts: Prompts) -> dict[str, PromptRun]:
    """Read the runs of the config, or all runs if it names none; return none if no model is configured."""
    if not prompts.models:
        return {}
    files = find_runs(prompts.folder)
    return {
        name: read_run(files, name) for name in (files if prompts.runs is None else prompts.runs)
    }


def read_run(files: dict[str, Path], name: str) -> PromptRun:
    content = _read_content(files, name, "prompts.runs")
    after = content.get("after")
    if after not in (None, *files):
        raise UserError(f"{files[name]}: after is {after!r}; expected the name of a run.")
    return validate(PromptRun, content, f"{files[name]}: ")


def _read_content(files: dict[str, Path], name: Any, key: str) -> dict[str, Any]:
    """Read the keys of a run, merged over those of its parents; `key` names the run in error messages."""
    if name not in files:
        near = format_suggestion(str(name), files)
        raise UserError(
            f"{key} has {name!r}; expected the name of a run, without a cycle of extends.{near}"
        )
    path = files[name]
    content = read_yaml(path)
    if not _NAME.fullmatch(name) or not isinstance(content, dict):
        raise UserError(
            f"{path}: expected a mapping in a file whose name has small letters, digits and single"
            " underscores between them."
        )
    parent = content.get("extends")
    if parent is None:
        return content
    others = {other: file for other, file in files.items() if other != name}
    inherited = _read_content(others, parent, f"{path}: extends")
    for left_out in NOT_INHERITED:
        inherited.pop(left_out, None)
    return {"after": parent} | _merge(inherited, content)


def _merge(below: Any, above: Any) -> Any:
    """Merge mappings key by key; everything else is replaced."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {key: _merge(below.get(key), value) for key, value in above.items()}
