"""Follow docs/extending.md exactly: apply its blocks to a copy of the repository, and run its commands."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.workflow.snakemake import ROOT, build_command, run_for

pytestmark = pytest.mark.workflow

PAGE = ROOT / "docs/extending.md"
BIN = Path(sys.executable).parent
FENCED_BLOCK = re.compile(r"^(?P<line>[^\n]*)\n\n```\w*\n(?P<block>.*?)^```$", re.M | re.S)
APPEND = re.compile(r"Append to `([^`]+)`(, after two blank lines)?:")
WRITE = re.compile(r"Write `([^`]+)`:")
INSERT = re.compile(r"In `([^`]+)`, (above|below) the line `(.+)`:")
RUN = "Run:"


@dataclass(frozen=True)
class Block:
    """A fenced block of the page, with the line above it and its heading."""

    addition: str
    line: str
    text: str


def parse_blocks(page: str) -> list[Block]:
    parts = re.split(r"^## (.*)\n", page, flags=re.M)[1:]
    blocks = [
        Block(addition, match["line"], match["block"])
        for addition, part in zip(parts[::2], parts[1::2], strict=True)
        for match in FENCED_BLOCK.finditer(part)
    ]
    assert len(blocks) == len(re.findall("^```", page, re.M)) / 2, "a block has no line above it"
    return blocks


def apply_block(block: Block, repository: Path) -> None:
    """Write a block into the file and place that the line above it names."""
    if match := APPEND.fullmatch(block.line):
        path = repository / match[1]
        gap = "\n\n" if match[2] else ""
        path.write_text(path.read_text() + gap + block.text)
    elif match := WRITE.fullmatch(block.line):
        path = repository / match[1]
        assert not path.exists(), f"{match[1]} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
    elif match := INSERT.fullmatch(block.line):
        path = repository / match[1]
        lines = path.read_text().splitlines(keepends=True)
        places = [index for index, line in enumerate(lines) if line.strip() == match[3]]
        assert len(places) == 1, f"{match[1]} has the line {match[3]!r} {len(places)} times"
        lines.insert(places[0] + (match[2] == "below"), block.text)
        path.write_text("".join(lines))
    else:
        raise AssertionError(
            f"expected Append, Write or In as the line above a block, not {block.line!r}"
        )


def read_commands(block: Block) -> Iterator[list[str]]:
    for line in block.text.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "snakemake", line
        yield arguments


class Reader:
    """Apply the page's blocks to a copy of the repository, and run its commands in a folder."""

    def __init__(self, repository: Path, folder: Path):
        self.repository, self.folder = repository, folder

    def write_runs(self) -> Path:
        """Write a config with the prompt runs of the small config and those that the page adds."""
        runs = yaml.safe_load((ROOT / "tests/workflow/small.yaml").read_text())["prompts"]["runs"]
        shipped, current = (
            {path.stem for path in (root / "config/prompts").glob("*.yaml")}
            for root in (ROOT, self.repository)
        )
        path = self.folder / "write_runs.yaml"
        path.write_text(yaml.safe_dump({"prompts": {"runs": [*runs, *sorted(current - shipped)]}}))
        return path

    def run(self, arguments: list[str]) -> subprocess.CompletedProcess:
        """Run a command with the small config; the page's configs override it."""
        page_configs = []
        if "--configfile" in arguments:
            index = arguments.index("--configfile")
            page_configs, arguments = arguments[index + 1 :], arguments[:index]
        small = [self.repository / "tests/workflow/small.yaml", self.write_runs()]
        configs = [*small, *(self.repository / name for name in page_configs)]
        arguments = [*arguments, "--configfile", *map(str, configs)]
        snakefile = self.repository / "Snakefile"
        return run_for(self.folder, *build_command(self.folder, *arguments, snakefile=snakefile))

    def run_tool(self, *words: str) -> None:
        """Run a command in the copy of the repository, and check that it succeeds."""
        result = run_for(self.folder, *words, cwd=self.repository)
        assert result.returncode == 0, result.stdout + result.stderr


def copy_repository(folder: Path) -> Path:
    """Copy the tracked files, and untracked files that git does not ignore."""
    result = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in result.stdout.split("\0"):
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
    "A grid": ("tables/riddles_agreement.md", "# Riddles: agreement"),
    "A study": ("report/index.html", "has the highest mean gain from training"),
}


@pytest.mark.slow
def test_page_commands(copy, tmp_path):
    """Make each addition of the page, and check it before the next."""
    reader = Reader(copy_repository(tmp_path / "repository"), copy)
    blocks = parse_blocks(PAGE.read_text())
    assert list(dict.fromkeys(block.addition for block in blocks)) == list(EXPECTED)
    for addition, expected in EXPECTED.items():
        result = None
        for block in [block for block in blocks if block.addition == addition]:
            if block.line != RUN:
                apply_block(block, reader.repository)
                continue
            for arguments in read_commands(block):
                result = reader.run(arguments)
                assert result.returncode == 0, f"{addition}: {result.stdout}{result.stderr}"
        assert result, f"{addition} is never run"
        if expected:
            file, words = expected
            assert words.encode() in (copy / "results" / file).read_bytes(), addition
    reader.run_tool(str(BIN / "ruff"), "check", ".")
    reader.run_tool(str(BIN / "ruff"), "format", "--check", ".")
    reader.run_tool(str(BIN / "snakefmt"), "--check", "Snakefile", "rules")
    reader.run_tool(str(BIN / "lint-imports"))
    files = ("paper/test_prose.py", "settings/test_tables.py")
    tests = [f"tests/unit/{name}" for name in files]
    reader.run_tool(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)


def test_page_blocks(tmp_path):
    """Every block of the page can be applied; this test runs no command."""
    repository = copy_repository(tmp_path)
    for block in parse_blocks(PAGE.read_text()):
        if block.line != RUN:
            apply_block(block, repository)
