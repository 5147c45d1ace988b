"""Put the scores of all studies, and other people's, into one table.

In: the scores of each study, and the CSV files that the config names as harmony.imported_scores.
Out: results/scores.parquet and results/scores.csv.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    studies: list[Path], imported: list[Path], parquet: Path, csv: Path, *, metrics: dict[str, str]
) -> None:
    import pandas as pd

    from workflow_scripts.scores.tidy import merge, write_csv, write_parquet

    scores = merge([pd.read_parquet(study) for study in studies], imported, metrics)
    write_parquet(scores, parquet)
    write_csv(scores, csv)


if "snakemake" in globals():
    with step(snakemake):
        main(
            [Path(path) for path in snakemake.input.studies],
            [Path(path) for path in snakemake.input.imported],
            Path(snakemake.output.parquet),
            Path(snakemake.output.csv),
            metrics=snakemake.params.metrics,
        )
