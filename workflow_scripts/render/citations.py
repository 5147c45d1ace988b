"""The works that results rest on, as BibTeX: one line a work in resources/citations.tsv."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CitedWork:
    key: str
    of: str  # the tasks, harnesses and studies that rest on it, parted by spaces
    author: str
    title: str
    year: str
    arxiv: str
    address: str

    def bibtex(self) -> str:
        fields = {
            "author": self.author,
            "title": f"{{{self.title}}}",  # as it is written, whatever a style makes of capitals
            "year": self.year,
            "eprint": self.arxiv,
            "archivePrefix": "arXiv" if self.arxiv else "",
            "url": self.address,
        }
        lines = [f"  {name} = {{{text}}}" for name, text in fields.items() if text]
        return f"@misc{{{self.key},\n" + ",\n".join(lines) + "\n}"


def read_works(path: Path) -> list[CitedWork]:
    with path.open(encoding="utf-8", newline="") as file:
        return [CitedWork(**row) for row in csv.DictReader(file, delimiter="\t", strict=True)]


def bibliography(works: Sequence[CitedWork], names: Iterable[str]) -> str:
    """What these names rest on, each work once; a name without one is said, in a comment."""
    names = list(dict.fromkeys(names))
    cited = [work for work in works if not set(work.of.split()).isdisjoint(names)]
    known = {name for work in works for name in work.of.split()}
    unknown = [name for name in names if name not in known]
    note = [f"% Not in resources/citations.tsv, to be added by hand: {', '.join(unknown)}"]
    return "\n\n".join([work.bibtex() for work in cited] + (note if unknown else []))
