"""Collect the numbers that prose may use, each with its name, from the tables.

In: all tables of the studies as CSV, and the provenance. Out: results/tables/numbers.json and .tex.
"""

import json
from pathlib import Path

from workflow_scripts.bridge.step import step


def main(tables: list[Path], provenance: Path, request: dict, json_path: Path, tex: Path) -> None:
    from workflow_scripts.paper.studies import all_numbers
    from workflow_scripts.paper.tables import table_of
    from workflow_scripts.render.numbers import write_numbers
    from workflow_scripts.settings.paper import TablesTold

    told = TablesTold.of(request).tables
    read = {path.stem: table_of(told[path.stem].table).read(path) for path in tables}
    about = json.loads(provenance.read_text(encoding="utf-8"))
    write_numbers(all_numbers(read, about), json_path, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            [Path(path) for path in snakemake.input.tables],
            Path(snakemake.input.provenance),
            snakemake.params.request,
            Path(snakemake.output.json),
            Path(snakemake.output.tex),
        )
