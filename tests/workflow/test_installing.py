"""Test `pip install -e .` in a new environment: chunked models load from any folder, and pins agree."""

import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from shutil import copytree
from venv import EnvBuilder

import pytest

from tests.workflow.test_repository import read_pins

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_editable_install_registers_chunked_models(tmp_path):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("workflow_scripts", "envs"):
        copytree(ROOT / name, checkout / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (checkout / name).write_bytes((ROOT / name).read_bytes())
    environment = tmp_path / "environment"
    EnvBuilder().create(environment)
    python = environment / "bin/python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    # pip and the libraries come from the current environment, so that nothing is downloaded.
    libraries = environment / "lib" / version / "site-packages/libraries.pth"
    libraries.write_text(sysconfig.get_path("purelib") + "\n")

    install = [python, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "-e", checkout]
    installation = subprocess.run(install, capture_output=True, text=True, cwd=tmp_path)
    assert installation.returncode == 0, installation.stdout + installation.stderr
    code = (
        "import workflow_scripts.chunked; from transformers import AutoConfig;"
        "print(type(AutoConfig.for_model('qwen2_chunking')).__name__, workflow_scripts.__path__[0])"
    )
    result = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[1] == str(checkout / "workflow_scripts")


def test_package_requires_pinned_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    constraints = read_pins(ROOT / "envs/constraints.txt")
    for requirement in project["dependencies"]:
        name, version = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement).groups()
        assert constraints[name].startswith(f"{version}."), requirement
