"""Gather from all records what produced them, and which cells are broken.

In: the records of all studies. Out: results/report/provenance.json.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.step import step


def main(records: list[Path], provenance: Path, *, config: dict[str, Any]) -> None:
    from workflow_scripts.core.files import write_json
    from workflow_scripts.paper.provenance import gather

    write_json(provenance, gather(records, config))


if "snakemake" in globals():
    with step(snakemake):
        main(
            [Path(path) for path in snakemake.input.records],
            Path(snakemake.output.provenance),
            config=snakemake.params.config,
        )
