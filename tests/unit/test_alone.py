"""Parts that anybody can take into another project."""

import shutil
from pathlib import Path

import pytest

from tests.processes import python

ROOT = Path(__file__).parents[2]
IMPORT_ALL = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[2])
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
print(package.__file__, *(name for name in sys.modules if name.startswith("workflow_scripts.")))
"""


@pytest.mark.slow
def test_engine_is_imported_as_a_copy(tmp_path):
    shutil.copytree(ROOT / "workflow_scripts/evaluation/prefix", tmp_path / "engine")
    output = python(IMPORT_ALL, "engine", tmp_path).split()
    assert output == [str(tmp_path / "engine/__init__.py")]


@pytest.mark.slow
def test_chunked_is_imported_without_the_settings(tmp_path):
    output = python(IMPORT_ALL, "workflow_scripts.chunked", tmp_path)
    assert "workflow_scripts.chunked" in output and "workflow_scripts.settings" not in output
