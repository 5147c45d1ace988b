"""docs/extending.md, done to the letter: its blocks in a copy of the repository, its commands in a folder."""

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

from tests.workflow.snakemake import ROOT, command, run_for

pytestmark = pytest.mark.workflow

PAGE = ROOT / "docs/extending.md"
BIN = Path(sys.executable).parent
FENCE = re.compile(r"^(?P<said>[^\n]*)\n\n```\w*\n(?P<block>.*?)^```$", re.M | re.S)
APPEND = re.compile(r"Append to `([^`]+)`(, after two blank lines)?:")
WRITE = re.compile(r"Write `([^`]+)`:")
BESIDE = re.compile(r"In `([^`]+)`, (above|below) the line `(.+)`:")
RUN = "Run:"


@dataclass(frozen=True)
class Block:
    """What the page shows, under what it says of it and the addition that it belongs to."""

    addition: str
    said: str
    text: str


def blocks_of(page: str) -> list[Block]:
    parts = re.split(r"^## (.*)\n", page, flags=re.M)[1:]
    found = [
        Block(addition, match["said"], match["block"])
        for addition, part in zip(parts[::2], parts[1::2], strict=True)
        for match in FENCE.finditer(part)
    ]
    assert len(found) == len(re.findall("^```", page, re.M)) / 2, "a block is under no line"
    return found


def apply(block: Block, repository: Path) -> None:
    """Put a block where the page says; what is said in no known way is a mistake of the page."""
    if match := APPEND.fullmatch(block.said):
        path = repository / match[1]
        gap = "\n\n" if match[2] else ""
        path.write_text(path.read_text() + gap + block.text)
    elif match := WRITE.fullmatch(block.said):
        path = repository / match[1]
        assert not path.exists(), f"{match[1]} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
    elif match := BESIDE.fullmatch(block.said):
        path = repository / match[1]
        lines = path.read_text().splitlines(keepends=True)
        places = [at for at, line in enumerate(lines) if line.strip() == match[3]]
        assert len(places) == 1, f"{match[1]} has the line {match[3]!r} {len(places)} times"
        lines.insert(places[0] + (match[2] == "below"), block.text)
        path.write_text("".join(lines))
    else:
        raise AssertionError(f"the page says {block.said!r}, which is no known way to say it")


def commands_of(block: Block) -> Iterator[list[str]]:
    for line in block.text.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "snakemake", line
        yield arguments


class Stranger:
    """Has a copy of the repository, into which the page is typed, and a folder for the results."""

    def __init__(self, repository: Path, folder: Path):
        self.repository, self.folder = repository, folder

    def all_runs(self) -> Path:
        """The small world names its prompt runs; by default one that is added joins the others."""
        runs = yaml.safe_load((ROOT / "tests/workflow/small.yaml").read_text())["prompts"]["runs"]
        known, now = (
            {path.stem for path in (root / "config/prompts").glob("*.yaml")}
            for root in (ROOT, self.repository)
        )
        path = self.folder / "all_runs.yaml"
        path.write_text(yaml.safe_dump({"prompts": {"runs": [*runs, *sorted(now - known)]}}))
        return path

    def run(self, arguments: list[str]) -> subprocess.CompletedProcess:
        """As typed, in the world of the tests; a config of the page comes after that world's."""
        mine = []
        if "--configfile" in arguments:
            at = arguments.index("--configfile")
            mine, arguments = arguments[at + 1 :], arguments[:at]
        small = [self.repository / "tests/workflow/small.yaml", self.all_runs()]
        configs = [*small, *(self.repository / name for name in mine)]
        asked = [*arguments, "--configfile", *map(str, configs)]
        snakefile = self.repository / "Snakefile"
        return run_for(self.folder, *command(self.folder, *asked, snakefile=snakefile))

    def tool(self, *words: str) -> None:
        """A command in the copy of the repository that must be content."""
        result = run_for(self.folder, *words, cwd=self.repository)
        assert result.returncode == 0, result.stdout + result.stderr


def copy_of_the_repository(folder: Path) -> Path:
    """Its tracked files, and new ones that are not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


# What a user has of each addition once its commands have run: a file, and words in it.
SEEN = {
    "A task": ("tables/harmony_scores.csv", "TruthfulQA (mc1)"),
    "A model": None,
    "A table": ("tables/harmony_floors.md", "# Which tasks show something"),
    "A figure": ("figures/harmony_floors.png", ""),
    "A prompt run": ("tables/prompt_runs.csv", "run10"),
    "A training recipe": ("training/miniature--Qwen2-1M-Instruct@k3m6+cpt.json", "gentle"),
    "A grid": ("tables/riddles_agreement.md", "# Riddles: agreement"),
    "A study": ("report/index.html", "has the highest mean gain from training"),
}


@pytest.mark.slow
def test_the_page_done_to_the_letter_does_what_it_says(copy, tmp_path):
    """One after the other, as a reader would, each looked at before the next is begun."""
    stranger = Stranger(copy_of_the_repository(tmp_path / "repository"), copy)
    blocks = blocks_of(PAGE.read_text())
    assert list(dict.fromkeys(block.addition for block in blocks)) == list(SEEN)
    for addition, seen in SEEN.items():
        result = None
        for block in [block for block in blocks if block.addition == addition]:
            if block.said != RUN:
                apply(block, stranger.repository)
                continue
            for arguments in commands_of(block):
                result = stranger.run(arguments)
                assert result.returncode == 0, f"{addition}: {result.stdout}{result.stderr}"
        assert result, f"{addition} is never run"
        if seen:
            file, words = seen
            assert words.encode() in (copy / "results" / file).read_bytes(), addition
    stranger.tool(str(BIN / "ruff"), "check", ".")
    stranger.tool(str(BIN / "ruff"), "format", "--check", ".")
    stranger.tool(str(BIN / "snakefmt"), "--check", "Snakefile", "rules")
    stranger.tool(str(BIN / "lint-imports"))
    kept = ("paper/test_prose.py", "settings/test_tables.py")
    tests = [f"tests/unit/{name}" for name in kept]
    stranger.tool(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)


def test_every_block_is_put_somewhere(tmp_path):
    """Of the page as it is, without running anything."""
    repository = copy_of_the_repository(tmp_path)
    for block in blocks_of(PAGE.read_text()):
        if block.said != RUN:
            apply(block, repository)
