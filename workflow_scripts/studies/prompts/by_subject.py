"""Tabulate the accuracy of each prompt run by subject."""

from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import write_table

NOTE = (
    "Accuracy of each run on the n questions of a subject, in percent. Baselines, standard errors and format"
    " compliance are in the CSV."
)
_KEYS = ["subject", "model", "variant", "run"]


def compute_by_subject(scores: pd.DataFrame) -> pd.DataFrame:
    """Compute one row per subject, run and checkpoint, subjects by name."""
    scores = scores[(scores["study"] == "prompts") & scores["subset"].notna()]
    scores = scores.fillna({"variant": ""}).rename(columns={"subset": "subject", "task": "run"})
    scores = scores.set_index(_KEYS)
    table = scores.loc[scores["metric"] == "acc", ["n", "value", "stderr", "floor"]]
    table = table.rename(columns={"value": "acc"})
    for name in ("acc_strict", "format_met"):
        table[name] = scores.loc[scores["metric"] == name, "value"]
    return table.reset_index().sort_values("subject", kind="stable", ignore_index=True)


def _format_columns(table: pd.DataFrame, runs: list[str]) -> pd.DataFrame:
    """Format one column per run, also of a run that failed."""
    table = table.assign(
        Subject=table["subject"].str.replace("_", " "),
        Model=table["model"] + table["variant"],
        n=table.groupby(["subject", "model", "variant"])["n"].transform("max").astype("string"),
        percent=table["acc"].map("{:.0%}".format),
    )
    wide = table.pivot(index=["Subject", "Model", "n"], columns="run", values="percent")
    return wide.reindex(columns=runs).reset_index()


def main(scores: Path, table: list[Path], runs: list[str]) -> None:
    by_subject = compute_by_subject(pd.read_parquet(scores))
    shown = _format_columns(by_subject, runs)
    write_table(by_subject, table, title="Prompt runs by subject", note=NOTE, shown=shown)


if "snakemake" in globals():
    run_job(main, snakemake)
