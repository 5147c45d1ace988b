"""Parts that anybody can take into another project: they know nothing of the config."""

import pytest

from tests.processes import python

IMPORTS_ALL_OF = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
print(*(name for name in sys.modules if name.startswith("workflow_scripts.")))
"""


@pytest.mark.parametrize("part", ["evaluation.prefix", "chunked"])
def test_it_is_imported_without_the_settings(part):
    imported = python(IMPORTS_ALL_OF, f"workflow_scripts.{part}").split()
    assert f"workflow_scripts.{part}" in imported
    assert not [name for name in imported if name.startswith("workflow_scripts.settings")]
