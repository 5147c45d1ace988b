"""Read by Python at its start: gives PyTorch the pretended GPU as soon as, and only if, it is imported."""

import ctypes
import importlib.util
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from pathlib import Path

_LIBRARY = os.environ["CHORUS_PRETENDED_GPU"]
_STUBS = Path(__file__).parents[1] / "stubs.py"


class _AtImport(MetaPathFinder):
    """The library has to be there before PyTorch asks who knows of CUDA, and the stubs after it."""

    def find_spec(self, fullname, path, target=None):
        if fullname != "torch":
            return None
        spec = PathFinder.find_spec(fullname, path)
        execute = spec.loader.exec_module

        def exec_module(module):
            library = ctypes.CDLL(_LIBRARY)
            execute(module)
            stubs = importlib.util.spec_from_file_location("pretended_gpu_stubs", _STUBS)
            loaded = importlib.util.module_from_spec(stubs)
            stubs.loader.exec_module(loaded)
            loaded.put_in_place(library)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _AtImport())
