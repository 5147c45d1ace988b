"""Test the repository: format, layers, pinned versions, and documents that match the code."""

import re
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
# Rules made in a loop have a computed name, and `use rule ... as` has the name last.
RULE = re.compile(r"^ *(?:rule|(?:rule|checkpoint) (\w+)|use rule .* as (\w+) with):", re.M)
SCRIPT_BLOCK = '\nif "snakemake" in globals():\n'
SCRIPT = re.compile(r'"(?:\.\./)+(workflow_scripts/[\w/]+\.py)"')


def run(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def list_tracked(*patterns: str) -> list[Path]:
    result = run("git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns)
    return [ROOT / name for name in result.stdout.splitlines() if (ROOT / name).is_file()]


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("snakefmt", "--check", "Snakefile", "rules"),
        ("lint-imports",),
        ("mypy",),
    ],
    ids=" ".join,
)
def test_gate(command):
    result = run(str(BIN / command[0]), *command[1:])
    assert result.returncode == 0, result.stdout + result.stderr


def read_pins(path: Path) -> dict[str, str]:
    lines = re.findall(r"^\s*(?:- )?([\w.-]+)==([\w.]+)\s*$", path.read_text(), re.M)
    return {name.lower().replace("_", "-"): version for name, version in lines}


def test_requirements_match_constraints():
    requirements = read_pins(ROOT / "envs/requirements.txt")
    lines = (ROOT / "envs/requirements.txt").read_text().splitlines()
    assert len(requirements) == sum(bool(line) and not line.startswith("#") for line in lines)
    constraints = read_pins(ROOT / "envs/constraints.txt")
    assert requirements.items() <= constraints.items()
    assert int(requirements["xxhash"].split(".")[0]) < 4


def test_pinned_packages_have_checksums():
    text = (ROOT / "envs/hashes.txt").read_text()
    blocks = re.findall(
        r"^([\w.-]+)==([\w.]+)(?: ;[^\n]*?)? \\\n(?:    --hash=sha256:.*\n)+", text, re.M
    )
    versions = {name.replace("_", "-"): version for name, version in blocks}
    assert len(blocks) == len(re.findall(r"^[^\s#]", text, re.M)), "a line without checksums"
    assert read_pins(ROOT / "envs/constraints.txt").items() <= versions.items()


def test_pins_support_oldest_python():
    """Debian 12 has Python 3.11.2: a package that requires 3.11.5 made `make demo` fail there."""
    version = re.search(r"Python (3\.\d+) or later", (ROOT / "README.md").read_text())
    assert version
    mismatches = {
        name: specifier
        for name in read_pins(ROOT / "envs/constraints.txt")
        if (specifier := metadata(name)["Requires-Python"])
        and f"{version[1]}.0" not in SpecifierSet(specifier)
    }
    assert mismatches == {}


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda path: path.name)
def test_conda_environment_has_pinned_versions(path):
    versions = read_pins(ROOT / "envs/requirements.txt") | read_pins(
        ROOT / "envs/requirements-gpu.txt"
    )
    (pip,) = [
        d["pip"] for d in yaml.safe_load(path.read_text())["dependencies"] if isinstance(d, dict)
    ]
    for requirement in pip:
        name, version = requirement.split("==")
        assert versions[name] == version, f"{path.name}: {requirement}"
        # It is compiled against the installed torch, which conda does not install first.
        assert name.replace("_", "-") != "flash-attn", path.name


def test_rules_have_docstrings_logs_and_scripts():
    used_scripts = set()
    for path in list_tracked("rules/*.smk"):
        text = path.read_text()
        starts = [*RULE.finditer(text)]
        for index, match in enumerate(starts):
            end = starts[index + 1].start() if index + 1 < len(starts) else len(text)
            body, name = text[match.start() : end], match[1] or match[2]
            assert re.match(r'.*\n *"""', body), f"{name} says nothing to snakemake --list"
            if script := SCRIPT.search(body):
                used_scripts.add(script[1])
            if name and (script or match[2]):
                assert f"logs/{name}" in body, f"the log of {name} bears another name"

    scripts = [
        path for path in list_tracked("workflow_scripts/*.py") if SCRIPT_BLOCK in path.read_text()
    ]
    assert used_scripts == {path.relative_to(ROOT).as_posix() for path in scripts}


def list_anchors(page: Path) -> set[str]:
    """List the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_and_anchors_exist():
    for page in list_tracked("*.md"):
        links = re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", page.read_text())
        for target, anchor in links:
            path = page.parent / target if target else page
            assert path.exists(), f"{page.name} links to {target}"
            if anchor and path.suffix == ".md":
                assert anchor in list_anchors(path), f"{page.name} links to {target}#{anchor}"
