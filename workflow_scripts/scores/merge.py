"""Merge the scores of all studies and imported files into one table."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.scores.columns import COLUMNS
from workflow_scripts.scores.files import write_csv
from workflow_scripts.scores.imported import read_all_imported
from workflow_scripts.scores.tidy import sort_scores, write_parquet


def merge(
    studies: list[pd.DataFrame], imported: Sequence[Path], metrics: Mapping[str, str]
) -> pd.DataFrame:
    """Merge the scores of all studies with imported ones; imported files must not have a study's name."""
    own = set(pd.concat(studies)["study"])
    frames = [*studies, *read_all_imported(imported, metrics, reserved=own)]
    # Imported results occur in two studies.
    merged = pd.concat(frames, ignore_index=True).astype(COLUMNS).drop_duplicates()
    return sort_scores(merged)


def main(
    studies: list[Path],
    imported: list[Path],
    parquet: Path,
    csv: Path,
    metrics: Mapping[str, str],
) -> None:
    scores = merge(list(map(pd.read_parquet, studies)), imported, metrics)
    write_parquet(scores, parquet)
    write_csv(scores, csv)


if "snakemake" in globals():
    run_job(main, snakemake)
