"""Collect the numbers of prose from the tables, by name, as JSON and for LaTeX."""

import json
from pathlib import Path

from workflow_scripts.bridge.job import run_job
from workflow_scripts.paper.numbers import compute_run_numbers
from workflow_scripts.paper.studies import STUDIES, make_numbers
from workflow_scripts.render.numbers import write_numbers
from workflow_scripts.render.tables import read_table


def main(tables: list[Path], provenance: Path, numbers: list[Path]) -> None:
    frames = {path.stem: read_table(path) for path in tables}
    values = compute_run_numbers(json.loads(provenance.read_text(encoding="utf-8")))
    for study in STUDIES:
        values |= study.values(frames)
    write_numbers(make_numbers(values), *numbers)


if "snakemake" in globals():
    run_job(main, snakemake)
