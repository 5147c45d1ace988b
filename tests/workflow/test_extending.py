"""Follow docs/extending.md exactly: apply its blocks to a copy of the repository, and run its commands."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.workflow.snakemake import ROOT, build_command, run_for

pytestmark = pytest.mark.workflow

PAGE = ROOT / "docs/extending.md"
BIN = Path(sys.executable).parent
FENCED_BLOCK = re.compile(r"^(?P<line>[^\n]*)\n\n```\w*\n(?P<text>.*?)^```$", re.M | re.S)
APPEND = re.compile(r"Append to `([^`]+)`(, after two blank lines)?:")
WRITE = re.compile(r"Write `([^`]+)`:")
INSERT = re.compile(r"In `([^`]+)`, (above|below) the line `(.+)`:")
RUN = "Run:"
SMALL_RUNS = ("run6", "run8", "run9", "run10")  # those of the small config, and the page's


def parse_blocks(page: str) -> dict[str, list[tuple[str, str]]]:
    """Return the fenced blocks under each heading of the page, each with the line above it."""
    parts = re.split(r"^## (.*)\n", page, flags=re.M)[1:]
    blocks = {
        addition: [(match["line"], match["text"]) for match in FENCED_BLOCK.finditer(part)]
        for addition, part in zip(parts[::2], parts[1::2], strict=True)
    }
    count = sum(map(len, blocks.values()))
    assert count == len(re.findall("^```", page, re.M)) / 2, "a block has no line above it"
    return {addition: found for addition, found in blocks.items() if found}


def apply_block(line: str, text: str, repository: Path) -> None:
    """Write a block into the file and place that the line above it names."""
    if match := APPEND.fullmatch(line):
        path = repository / match[1]
        path.write_text(path.read_text() + ("\n\n" if match[2] else "") + text)
    elif match := WRITE.fullmatch(line):
        path = repository / match[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x") as file:
            file.write(text)
    else:
        match = INSERT.fullmatch(line)
        assert match, f"expected Append, Write or In as the line above a block, not {line!r}"
        path = repository / match[1]
        lines = path.read_text().splitlines(keepends=True)
        (place,) = [index for index, line in enumerate(lines) if line.strip() == match[3]]
        lines.insert(place + (match[2] == "below"), text)
        path.write_text("".join(lines))


def run_command(command: str, repository: Path, folder: Path) -> subprocess.CompletedProcess:
    """Run a command of the page with the small config; the page's configs override it."""
    words, _, configs = command.removeprefix("snakemake").partition("--configfile")
    runs = [name for name in SMALL_RUNS if (repository / f"config/prompts/{name}.yaml").exists()]
    (folder / "runs.yaml").write_text(yaml.safe_dump({"prompts": {"runs": runs}}))
    paths = [repository / "tests/workflow/small.yaml", "runs.yaml"]
    paths += [repository / name for name in configs.split()]
    arguments = [*shlex.split(words), "--configfile", *map(str, paths)]
    snakefile = repository / "Snakefile"
    return run_for(folder, *build_command(folder, *arguments, snakefile=snakefile))


def copy_repository(folder: Path) -> Path:
    """Copy the tracked files, and untracked files that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


# For each addition, a file that its commands write, and words in it.
EXPECTED = {
    "A task": ("tables/harmony_scores.csv", "TruthfulQA (mc1)"),
    "A model": None,
    "A table": ("tables/harmony_baselines.md", "# Which tasks show something"),
    "A figure": ("figures/harmony_baselines.png", ""),
    "A prompt run": ("tables/prompt_runs.csv", "run10"),
    "A training recipe": ("training/miniature--Qwen2-1M-Instruct@k3m6+cpt.json", "gentle"),
    "A grid": ("tables/riddles_agreement.md", "# Riddles: rank agreement between tasks"),
    "A study": ("report/index.html", "has the highest mean gain from training"),
}


@pytest.mark.slow
def test_page_commands(copy, tmp_path):
    """Make each addition of the page, and check it before the next."""
    repository = copy_repository(tmp_path / "repository")
    blocks = parse_blocks(PAGE.read_text())
    assert list(blocks) == list(EXPECTED)
    for addition, expected in EXPECTED.items():
        commands = []
        for line, text in blocks[addition]:
            if line != RUN:
                apply_block(line, text, repository)
                continue
            commands = text.splitlines()
            for command in commands:
                result = run_command(command, repository, copy)
                assert result.returncode == 0, f"{addition}: {result.stdout}{result.stderr}"
        assert commands, f"{addition} is never run"
        if expected:
            file, words = expected
            assert words.encode() in (copy / "results" / file).read_bytes(), addition
    tests = ["tests/unit/paper/test_prose.py", "tests/unit/settings/test_tables.py"]
    for words in (
        (BIN / "ruff", "check", "."),
        (BIN / "ruff", "format", "--check", "."),
        (BIN / "snakefmt", "--check", "Snakefile", "rules"),
        (BIN / "lint-imports",),
        (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests),
    ):
        result = run_for(copy, *words, cwd=repository)
        assert result.returncode == 0, result.stdout + result.stderr


def test_page_blocks(tmp_path):
    """Every block of the page can be applied; this test runs no command."""
    repository = copy_repository(tmp_path)
    for blocks in parse_blocks(PAGE.read_text()).values():
        for line, text in blocks:
            if line != RUN:
                apply_block(line, text, repository)
