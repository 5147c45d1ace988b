"""What cheaper recipes save and what they move, by the records of runs that differ in nothing else.

    python -m bench.recipes usual/results patience/results half/results

The first is what the others are compared with: tokens that they trained on, the mean difference of the scores after
training over all cells with its standard error, and Kendall's tau-b of the models' mean scores. The run of the same
recipe with another seed says what is chance.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.core.records import Record, read_record
from workflow_scripts.stats.agreement import kendall_matrix

_LINE = "{:<24} {:>5} {:>10} {:>16} {:>10} {:>7}"


def cells_of(results: Path) -> pd.DataFrame:
    """A row for each model and task: the tokens of its training and its score, in points."""
    rows = []
    for path in sorted(results.glob("records/harmony/train_before_test/*/*.json")):
        record = read_record(path)
        if isinstance(record, Record) and record.training is not None:
            key = {"model": record.model.id, "task": record.task.name}
            rows.append(
                key | {"tokens": record.training.tokens, "score": 100 * record.metrics[0].value}
            )
    if not rows:
        raise SystemExit(f"{results} has no record of a training before a test.")
    return pd.DataFrame(rows).set_index(["model", "task"])


def compared(usual: pd.DataFrame, other: pd.DataFrame) -> tuple[str, ...]:
    both = usual.join(other.add_suffix("_other"), how="inner")
    moved = both["score_other"] - both["score"]
    means = both.groupby("model")[["score", "score_other"]].mean()
    error = moved.std(ddof=1) / np.sqrt(len(moved))
    return (
        f"{len(both)}",
        f"{100 * both['tokens_other'].sum() / both['tokens'].sum():.0f}%",
        f"{moved.mean():+.2f} ± {error:.2f}",
        f"{moved.abs().mean():.2f}",
        f"{kendall_matrix(means).iloc[0, 1]:.2f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, help="folders results of runs")
    folders = parser.parse_args().results
    usual = cells_of(folders[0])
    print(_LINE.format("run", "cells", "tokens", "points", "absolute", "tau-b"))
    for folder in folders:
        print(_LINE.format(folder.resolve().parent.name, *compared(usual, cells_of(folder))))


if __name__ == "__main__":
    main()
