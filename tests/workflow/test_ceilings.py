"""Ceilings: how large each room may be, and what its files may look like.

A commit that raises a number here says in its message what the lines bought.
"""

import ast
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "workflow_scripts"
# Lines of Python, and of rules, by the folder they lie in.
LINES: dict[str, int] = {
    "workflow_scripts/bridge": 2260,
    "workflow_scripts/chunked": 2290,
    "workflow_scripts/core": 2540,
    "workflow_scripts/evaluation": 7390,
    "workflow_scripts/grid": 1080,
    "workflow_scripts/hub": 2680,
    "workflow_scripts/miniature": 3260,
    "workflow_scripts/paper": 2630,
    "workflow_scripts/planning": 2220,
    "workflow_scripts/render": 1280,
    "workflow_scripts/scores": 2390,
    "workflow_scripts/settings": 4880,
    "workflow_scripts/stats": 2510,
    "workflow_scripts/steps": 410,
    "workflow_scripts/studies": 12070,
    "workflow_scripts/training": 4390,
    "Snakefile": 80,
    "rules": 1820,
    "tests": 44560,
    "bench": 2990,
}
MOST_LINES_OF_A_FILE = 320
MOST_ARGUMENTS = 8
# As a library calls it.
THEIR_ARGUMENTS = {"workflow_scripts.evaluation.prefix.attention.branch_attention"}


def files_of(room: str) -> list[Path]:
    folder = ROOT / room
    found = [folder] if folder.is_file() else [*folder.rglob("*.py"), *folder.rglob("*.smk")]
    return [path for path in found if "__pycache__" not in path.parts]


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("room", LINES)
def test_a_room_is_no_larger_than_it_was(room):
    assert sum(map(lines_of, files_of(room))) <= LINES[room]


def test_every_room_has_a_ceiling():
    rooms = {f"workflow_scripts/{path.parent.name}" for path in PACKAGE.glob("*/__init__.py")}
    assert set(LINES) == rooms | {"Snakefile", "rules", "tests", "bench"}


def test_no_file_is_too_long():
    long = {
        str(path) for path in files_of("workflow_scripts") if lines_of(path) > MOST_LINES_OF_A_FILE
    }
    assert not long


def parsed() -> dict[str, ast.Module]:
    """The package's modules by their names."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in files_of("workflow_scripts")
    }


MODULES = parsed()


def imported(module: ast.Module) -> set[str]:
    """Of the package, also what only type checkers import."""
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in MODULES else node.module for name in named}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & set(MODULES)


def test_no_files_of_a_room_import_one_another_in_a_circle():
    room = {name: ".".join(name.split(".")[:2]) for name in MODULES}
    needs = {
        name: {one for one in imported(module) if room[one] == room[name] and one != name}
        for name, module in MODULES.items()
    }
    # Whatever imports nothing that is left is no part of a circle.
    while free := {name for name, of in needs.items() if not of & set(needs)}:
        needs = {name: of for name, of in needs.items() if name not in free}
    circle = {name for name in needs if any(name in of for of in needs.values())}
    assert not circle


def test_no_function_has_too_many_arguments():
    many = {}
    for name, module in MODULES.items():
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = len([one for one in given if one.arg not in ("self", "cls", "ctx")])
                if count > MOST_ARGUMENTS:
                    many[f"{name}.{node.name}"] = count
    assert set(many) == THEIR_ARGUMENTS


def test_a_class_name_stands_for_one_thing():
    where = defaultdict(list)
    for name, module in MODULES.items():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(name)
    assert not {name: places for name, places in where.items() if len(places) > 1}


def test_there_are_few_rules():
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in [*files_of("rules"), ROOT / "Snakefile"]
    )
    kinds = Counter(
        words[0] if words[0] != "use" else "use rule"
        for line in text.splitlines()
        if (words := line.split()) and words[0] in ("rule", "rule:", "checkpoint", "use")
    )
    assert sum(kinds.values()) <= 70, kinds
