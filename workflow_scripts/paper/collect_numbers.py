"""Collect the numbers used in the report's text from the tables, and their provenance from the records."""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import write_json
from workflow_scripts.paper.numbers import compute_run_numbers
from workflow_scripts.paper.provenance import gather
from workflow_scripts.paper.studies import STUDIES
from workflow_scripts.render.numbers import select_computed
from workflow_scripts.render.tables import read_table


def main(
    records: list[Path],
    tables: list[Path],
    numbers: Path,
    provenance: Path,
    config: dict[str, Any],
) -> None:
    frames = {path.stem: read_table(path) for path in tables}
    sources = gather(records, config)
    values = compute_run_numbers(sources)
    for study in STUDIES:
        values |= study.values(frames)
    write_json(numbers, select_computed(values))
    write_json(provenance, sources)


if "snakemake" in globals():
    run_job(main, snakemake)
