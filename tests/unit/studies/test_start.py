"""Test that table scripts avoid slow imports, because startup dominates the time of small jobs."""

from pathlib import Path

from tests.processes import python

ROOT = Path(__file__).parents[3]
ROOM = ROOT / "workflow_scripts"
# Each takes from tenths of a second to seconds to import.
MODELS = {"torch", "transformers", "datasets", "lm_eval", "lighteval", "peft"}


def list_imports(*modules: str) -> set[str]:
    code = (
        "import importlib, sys\n"
        "for module in sys.argv[1:]: importlib.import_module(module)\n"
        "print(*sys.modules)"
    )
    return set(python(code, *modules).split())


def test_table_scripts_import_no_models():
    rooms = [path for room in ("studies", "paper") for path in (ROOM / room).rglob("*.py")]
    scripts = [path for path in rooms if 'if "snakemake" in globals()' in path.read_text()]
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in scripts]
    assert len(modules) > 15
    assert (MODELS | {"matplotlib"}) & list_imports(*modules) == set()


def test_records_import_nothing_heavy():
    """Each Snakemake process of a run imports the module."""
    heavy = {"pandas", "numpy", "scipy", "pyarrow", *MODELS}
    assert heavy & list_imports("workflow_scripts.studies.records") == set()
