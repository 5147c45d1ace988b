"""All studies of the report, in the order in which it tells them, and their numbers together."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from workflow_scripts.paper.numbers import REPRODUCTION, run_numbers
from workflow_scripts.paper.requests import TablesTold
from workflow_scripts.paper.tables import table_of
from workflow_scripts.render.chapter import Tables
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.numbers import Declared, Numbers, write_numbers
from workflow_scripts.render.prose import told
from workflow_scripts.studies.chunking.chapter import CHUNKING
from workflow_scripts.studies.harmony.chapter import HARMONY
from workflow_scripts.studies.prompts.chapter import PROMPTS
from workflow_scripts.studies.published.chapter import PUBLISHED
from workflow_scripts.studies.suite.chapter import SUITE

STUDIES = (
    PUBLISHED,
    HARMONY,
    CHUNKING,
    PROMPTS,
    SUITE,
    REPRODUCTION,
)


@cache
def declared() -> Declared:
    """Every number that prose may use."""
    return Declared.read(*dict.fromkeys(study.declared for study in STUDIES))


def tell(prose: Path, numbers: Numbers) -> list[str]:
    """The paragraphs of a template that can be told of these numbers."""
    return told(prose, numbers, declared())


def all_numbers(tables: Tables, provenance: dict[str, Any]) -> Numbers:
    """Those that the tables at hand have."""
    values = run_numbers(provenance)
    for study in STUDIES:
        values |= study.values(tables)
    return Numbers(declared().named(values))


def collect_numbers(inputs: Inputs, request: dict[str, Any], outputs: dict[str, Path]) -> None:
    told = TablesTold.of(request).tables
    tables = {path.stem: table_of(told[path.stem].table).read(path) for path in inputs["tables"]}
    about = json.loads(inputs.one("provenance").read_text(encoding="utf-8"))
    write_numbers(all_numbers(tables, about), outputs["json"], outputs["tex"])
