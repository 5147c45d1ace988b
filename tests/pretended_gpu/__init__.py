"""A GPU for machines that have none: PyTorch's device "cuda", with the host's memory and the CPU's kernels.

What it shows: that everything lies on the device where it is needed, that generators and number formats are
the device's, that steps can be recorded as CUDA graphs, and that all code which only runs on GPUs runs at all,
with the CPU's numbers. What it cannot show: the real kernels, their rounding, memory and speed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils import cpp_extension

_HERE = Path(__file__).parent


def environment(folder: Path) -> dict[str, str]:
    """Variables that give every Python process which has them the device; built in `folder`, in seconds."""
    library = folder / "pretended_gpu.so"
    places = [f"-I{place}" for place in cpp_extension.include_paths()]
    libraries = cpp_extension.library_paths()[0]
    subprocess.run(
        ["g++", "-O1", "-std=c++20", "-shared", "-fPIC", *places, str(_HERE / "device.cpp"),
         "-o", str(library), f"-L{libraries}", "-lc10", "-ltorch_cpu", f"-Wl,-rpath,{libraries}",
         f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"],
        check=True,
    )  # fmt: skip
    return {"PYTHONPATH": str(_HERE / "site"), "CHORUS_PRETENDED_GPU": str(library)}


def found_by(script: str, *arguments: str, environment: dict[str, str]) -> dict[str, Any]:
    """What a script of this folder prints last, as JSON, in a process that has the device."""
    result = subprocess.run(
        [sys.executable, "-m", f"tests.pretended_gpu.{script}", *arguments],
        env=os.environ | environment,
        cwd=_HERE.parents[1],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])
