"""Read the files of prompt runs; every problem is a sentence with the file and the key."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.prompts.section import FOLDER
from workflow_scripts.settings.prompts.spec import NOT_INHERITED, PromptRun
from workflow_scripts.settings.prompts.templates import TemplateError, render
from workflow_scripts.settings.raw import checked
from workflow_scripts.settings.sentences import hint, shown
from workflow_scripts.settings.yaml_files import read_yaml

_NAME = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_EXAMPLE = {
    "question": "What is 1 + 1?",
    "choices": "['1', '2', '3', '4']",
    "choice_list": ["1", "2", "3", "4"],
    "subject": "elementary_mathematics",
}


def find_runs(folder: str, workflow_folder: Path) -> dict[str, Path]:
    """Find the file of each run by its name, run2 before run10 and run4_published behind run4."""
    files: dict[str, Path] = {}
    for place in (Path(folder), workflow_folder / folder, workflow_folder / FOLDER):
        for path in place.resolve().glob("*.yaml"):
            files.setdefault(path.stem, path)

    def order(name: str) -> list[tuple[int, str]]:
        parts = re.findall(r"\d+|\D+", name)
        return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]

    return {name: files[name] for name in sorted(files, key=order)}


def read_runs(files: dict[str, Path], names: Iterable[str]) -> dict[str, PromptRun]:
    """Read these runs in their order; a UserError holds one sentence per problem."""
    runs, problems = {}, []
    for name in names:
        try:
            runs[name] = _read_run(files, name, ())
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(dict.fromkeys(problems))
    return runs


def _read_run(files: dict[str, Path], name: str, children: tuple[str, ...]) -> PromptRun:
    """Read a run over the one that it extends."""
    path = files[name]
    content = read_yaml(path)
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    if not _NAME.fullmatch(name) or not isinstance(content, dict):
        raise UserError(
            f"{path}: expected a mapping in a file whose name has small letters, digits and single"
            " underscores between them."
        )
    extends = content.get("extends")
    for key in ("extends", "after"):
        other = content.get(key)
        if (other is not None and other not in files) or other in (*children, name):
            raise UserError(
                f"{path}: {key} is {shown(other)}; expected the name of another run{hint(str(other), files)}."
            )
    if extends is not None:
        parent = _read_run(files, extends, (*children, name))
        inherited = parent.model_dump(mode="json", exclude_unset=True, exclude=set(NOT_INHERITED))
        content = {"after": extends} | _merge(inherited, content)
    run, problems = checked(PromptRun, content)
    if run is not None:
        problems += _template_problems(run)
    if run is None or problems:
        raise UserError(
            f"{path}: {problem.replace('the config has no', 'a run has no')}"
            for problem in problems
        )
    return run


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Merge mappings key by key; everything else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _template_problems(run: PromptRun) -> Iterator[str]:
    """Render each template once on an example."""
    values: dict[str, Any] = dict(_EXAMPLE)
    if run.questions == "vendor":
        values |= {"prompt": "What is 1 + 1?", "prompts": ["What is 1 + 1?"]}
    shot = _EXAMPLE | {"answer": "2", "letter": "B"}
    if run.shots.source not in ("none", "vendor"):
        values["shots"] = [shot] * run.shots.number
    templates = [("decoding.continuation", run.decoding.continuation, {"letter": "B"})]
    if run.text is not None:
        templates.append(("text", run.text, values))
    for index, message in enumerate(run.messages or ()):
        names = values | ({"shot": shot} if message.for_each_shot else {})
        templates.append((f"messages[{index}].content", message.content, names))
    for key, template, names in templates:
        try:
            render(template, names)
        except TemplateError as error:
            yield f"{key} {error}"
