"""Tabulate the accuracy of each prompt run by subject."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import write_table

NOTE = (
    "Share of a subject's n questions that each run answered right, and in brackets the share of outputs"
    " in the format that the run asks for, in percent. The floor and the standard errors are in the CSV"
    " file; with n questions, one is 1/n."
)
_KEYS = ["subject", "model", "variant", "run"]


def compute_by_subject(
    scores: pd.DataFrame, checkpoints: Collection[str], runs: Collection[str]
) -> pd.DataFrame:
    """Compute one row per subject, checkpoint and run, subjects by name."""
    scores = scores[(scores["study"] == "prompts") & scores["subset"].notna()].fillna(
        {"variant": ""}
    )
    scores = scores.rename(columns={"subset": "subject", "task": "run"}).set_index(_KEYS)
    table = scores.loc[scores["metric"] == "acc", ["n", "value", "stderr", "floor"]]
    table = table.rename(columns={"value": "acc"})
    for name in ("acc_strict", "format_met"):
        table[name] = scores.loc[scores["metric"] == name, "value"]
    table = table.reset_index()
    places = {name: place for place, name in enumerate([*checkpoints, *runs])}
    order = pd.DataFrame(
        {
            "subject": table["subject"],
            "checkpoint": (table["model"] + table["variant"]).map(places),
            "run": table["run"].map(places),
        }
    )
    return table.loc[order.dropna().sort_values([*order]).index].reset_index(drop=True)


def _format_columns(table: pd.DataFrame, runs: Collection[str]) -> pd.DataFrame:
    """Format one column a run, where the CSV file has a row; of a run that broke its name alone."""
    cells = [
        f"{100 * acc:.0f}" + ("" if pd.isna(met) else f" ({100 * met:.0f})")
        for acc, met in zip(table["acc"], table["format_met"], strict=True)
    ]
    shown = table.assign(
        Subject=table["subject"].str.replace("_", " "),
        Model=table["model"] + table["variant"],
        cell=cells,
    )
    index = ["Subject", "Model"]
    n = shown.groupby(index, sort=False)["n"].max().astype("string")
    wide = shown.pivot(index=index, columns="run", values="cell").loc[n.index]
    wide = wide.reindex(columns=list(runs))
    wide.insert(0, "n", n)
    wide = wide.reset_index()
    return wide.drop(columns="Model") if wide["Model"].nunique() == 1 else wide


def main(
    scores: Path,
    table: list[Path],
    checkpoints: Mapping[str, bool],
    runs: Sequence[Mapping[str, Any]],
) -> None:
    names = [run["name"] for run in runs]
    by_subject = compute_by_subject(pd.read_parquet(scores), checkpoints, names)
    shown = _format_columns(by_subject, names)
    write_table(by_subject, table, title="Prompt runs by subject", note=NOTE, shown=shown)


if "snakemake" in globals():
    run_job(main, snakemake)
