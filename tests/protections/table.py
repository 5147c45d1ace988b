"""Bad days and strangers: what protects from each, the change that removes it, and the test that then fails."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs/failures.md"
# By file beside this one: the keys of a row that the document shows, and the heads of its columns.
TABLES = {
    "bad_days": {"what": "what", "ends": "how it ends", "do": "what you do"},
    "strangers": {"what": "what a stranger tries", "ends": "what becomes of it"},
}


@dataclass(frozen=True)
class Protection:
    """Lines of a file, what stands there without the protection, and the one test that must fail then."""

    file: str
    old: str
    new: str
    test: str

    def removed(self, tree: Path = ROOT) -> str:
        """The file's text without it."""
        text = (tree / self.file).read_text(encoding="utf-8")
        if (times := text.count(self.old)) != 1:
            raise ValueError(
                f"{self.file} has {self.old!r} {times} times; expected once, so that it can be removed."
            )
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Row:
    what: str
    ends: str
    do: str = ""
    # Where no single test can tell: the target of make that tries it.
    tried: str = ""
    held_by: tuple[Protection, ...] = ()


@cache
def rows(table: str) -> list[Row]:
    found = yaml.safe_load(Path(__file__).with_name(f"{table}.yaml").read_text(encoding="utf-8"))
    return [
        Row(**row | {"held_by": tuple(Protection(**one) for one in row.get("held_by", ()))})
        for row in found
    ]


def document() -> str:
    """With its tables as they are made from these files."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for table, columns in TABLES.items():
        lines = [[getattr(row, key) for key in columns] for row in rows(table)]
        head, *below = (f"| {' | '.join(line)} |\n" for line in [[*columns.values()], *lines])
        made = f"{head}{'|---' * len(columns)}|\n{''.join(below)}"
        begin = re.escape(f"<!-- made from tests/protections/{table}.yaml -->\n\n")
        text = re.sub(f"({begin})(?:\\|.*\n)*", lambda found, made=made: found[1] + made, text)
    return text
