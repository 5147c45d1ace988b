"""Collect the numbers of prose from the tables, by name, as JSON and for LaTeX."""

import json
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.paper.numbers import run_numbers
from workflow_scripts.paper.studies import STUDIES, declared
from workflow_scripts.render.chapter import Tables
from workflow_scripts.render.numbers import Numbers, write_numbers
from workflow_scripts.render.tables import read_table


def all_numbers(tables: Tables, provenance: dict[str, Any]) -> Numbers:
    """Compute the numbers that the given tables have."""
    values = run_numbers(provenance)
    for study in STUDIES:
        values |= study.values(tables)
    return Numbers(declared().named(values))


def main(tables: list[Path], provenance: Path, numbers: list[Path]) -> None:
    frames = {path.stem: read_table(path) for path in tables}
    facts = json.loads(provenance.read_text(encoding="utf-8"))
    write_numbers(all_numbers(frames, facts), *numbers)


if "snakemake" in globals():
    run_job(main, snakemake)
