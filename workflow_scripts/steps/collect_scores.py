"""Gather the records of one study into tidy scores, one row per number.

In: the study's records. Out: results/scores/<study>.parquet.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(records: list[Path], scores: Path) -> None:
    from workflow_scripts.scores.tidy import collect, write_parquet

    write_parquet(collect(records), scores)


if "snakemake" in globals():
    with step(snakemake):
        main([Path(path) for path in snakemake.input.records], Path(snakemake.output.scores))
