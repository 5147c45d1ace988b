"""What a table or a figure must not wait for: most of a small job is the start of its process."""

import re
from pathlib import Path

import pytest

from tests.processes import python

ROOT = Path(__file__).parents[3]
ROOM = ROOT / "workflow_scripts"
# Each takes tenths of a second to import, or seconds.
MODELS = {"torch", "transformers", "datasets", "lm_eval", "lighteval", "peft"}
STATISTICS = {"scipy.stats", "sklearn"}


def imported_with(*modules: str) -> set[str]:
    code = (
        "import importlib, sys\n"
        "for module in sys.argv[1:]: importlib.import_module(module)\n"
        "print(*sys.modules)"
    )
    return set(python(code, *modules).split())


def modules_with(constant: str) -> list[str]:
    """The modules that describe a table or a figure, as rules name them."""
    described = re.compile(rf"^{constant} = ", re.M)
    found = [path for path in ROOM.rglob("*.py") if described.search(path.read_text())]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted(found)]


@pytest.mark.parametrize(
    ("constant", "slow"),
    [("TABLE", MODELS | STATISTICS | {"matplotlib"}), ("FIGURE", MODELS | STATISTICS)],
)
def test_a_table_or_a_figure_imports_only_what_it_needs_itself(constant, slow):
    modules = modules_with(constant)
    assert len(modules) > 15
    assert slow & imported_with(*modules) == set()


def test_placing_a_miniature_model_waits_for_no_class_of_models():
    found = imported_with("workflow_scripts.miniature.shipped")
    assert found & {"torch", "transformers.modeling_utils", "datasets"} == set()
