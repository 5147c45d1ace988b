"""From the files of prompt runs to runs that hold together, or to every problem of all of them."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.prompts.checks import contradictions
from workflow_scripts.settings.prompts.section import FOLDER
from workflow_scripts.settings.prompts.spec import NOT_INHERITED, PromptRun
from workflow_scripts.settings.raw import checked
from workflow_scripts.settings.sentences import hint, shown
from workflow_scripts.settings.yaml_files import read_yaml

_NAME = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")


def find_runs(folder: str, workflow_folder: Path) -> dict[str, Path]:
    """The file of each run by its name, run2 before run10."""
    found: dict[str, Path] = {}
    places = (Path(folder), workflow_folder / folder, workflow_folder / FOLDER)
    for place in dict.fromkeys(path.resolve() for path in places):
        for path in place.glob("*.yaml"):
            found.setdefault(path.stem, path)
    return dict(sorted(found.items(), key=lambda item: natural(item[0])))


def natural(name: str) -> list[tuple[int, str]]:
    """Sorts run2 before run10, and run4_published behind run4."""
    parts = re.findall(r"\d+|\D+", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def read_runs(files: dict[str, Path], wanted: Iterable[str]) -> dict[str, PromptRun]:
    """The wanted runs in their order; a UserError holds one sentence per problem."""
    reader = _Reader(files)
    runs = {name: run for name in wanted if (run := reader.run(name)) is not None}
    if reader.problems:
        raise UserError(reader.problems)
    return runs


class _Reader:
    def __init__(self, files: dict[str, Path]):
        self._files = files
        self.problems: list[str] = []
        self._said: dict[str, set[str]] = {}  # of each run, what was wrong with it

        for name in ("run", "_read"):
            setattr(self, name, cache(getattr(self, name)))

    def run(self, name: str) -> PromptRun | None:
        merged = self._merged(name, ())
        if merged is None:
            return None
        extends = (self._read(name) or {}).get("extends")
        if extends is not None:
            self.run(extends)
        inherited = self._said.get(extends, set()) if extends else set()
        run, said = self._checked(merged)
        self._said[name] = set(said) | inherited
        for sentence in said:
            if sentence not in inherited:  # what a file got from another is said of that other
                self._complain(name, sentence)
        return run

    def _checked(self, merged: dict[str, Any]) -> tuple[PromptRun | None, list[str]]:
        """The run, or None and what is wrong with it."""
        run, said = checked(PromptRun, merged)
        if run is None:
            return None, said
        said += contradictions(run)
        after = run.after or merged.get("extends")
        if after is not None and after not in self._files:
            said.append(
                f"after is {shown(after)}; expected the name of a run{hint(after, self._files)}."
            )
        return (None if said else run.model_copy(update={"after": after})), said

    def _merged(self, name: str, children: tuple[str, ...]) -> dict[str, Any] | None:
        """The file with what it extends under it; None, and a complaint, if that cannot be had."""
        own = self._read(name)
        if own is None or (extends := own.get("extends")) is None:
            return own
        if not isinstance(extends, str) or extends not in self._files:
            near = hint(extends, self._files) if isinstance(extends, str) else ""
            self._complain(
                name, f"extends is {shown(extends)}; expected the name of another run{near}."
            )
            return None
        if extends in (*children, name):
            chain = " -> ".join([*children, name, extends])
            self._complain(
                name, f"extends is {shown(extends)}; expected a chain that ends, not {chain}."
            )
            return None
        below = self._merged(extends, (*children, name))
        if below is None:
            return None
        return _over({k: v for k, v in below.items() if k not in NOT_INHERITED}, own)

    def _read(self, name: str) -> dict[str, Any] | None:
        if not _NAME.fullmatch(name):
            self._complain(
                name,
                f"the name {shown(name)} is not one of a run; expected small letters, digits and"
                " single underscores between them.",
            )
            return None
        try:
            found = read_yaml(self._files[name])
        except UserError as error:
            for problem in error.problems:
                self._complain(name, problem.removeprefix(str(self._files[name])).lstrip(": "))
            return None
        if not isinstance(found, dict):
            self._complain(name, f"is {shown(found)}; expected a mapping of the keys of a run.")
            return None
        return found

    def _complain(self, name: str, sentence: str) -> None:
        path = self._files[name]
        if path.is_relative_to(Path.cwd()):
            path = path.relative_to(Path.cwd())
        self.problems.append(f"{path}: {sentence.replace('the config has no', 'a run has no')}")


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Mappings are merged key by key, everything else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _over(merged[key], value) if both else value
    return merged
