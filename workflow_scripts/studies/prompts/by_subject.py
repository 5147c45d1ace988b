"""The accuracy of each prompt run by subject."""

import pandas as pd

from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import Table
from workflow_scripts.studies.prompts.requests import PromptTables

NOTE = (
    "Share of a subject's n questions that each run answered right, and in brackets the share of outputs"
    " in the format that the run asks for, in percent. The floor and the standard errors are in the CSV"
    " file; with n questions, one is 1/n."
)
COLUMNS = columns(
    ("text", "subject model variant run"),
    ("whole", "n"),
    ("number", "acc stderr floor acc_strict format_met"),
)
_METRICS = ("acc", "acc_strict", "format_met")


def prompt_runs_by_subject(scores: pd.DataFrame, request: PromptTables) -> pd.DataFrame:
    """One row per subject, checkpoint and run, subjects by name."""
    scores = scores[(scores["study"] == "prompts") & scores["subset"].notna()]
    found = {
        (row.subset, row.model + row.variant, row.task, row.metric): row
        for row in scores.fillna({"variant": ""}).itertuples()
    }
    rows = []
    for subject in sorted(scores["subset"].unique()):
        for checkpoint in request.checkpoints:
            for run in request.runs:
                cells = [found.get((subject, checkpoint.id, run.name, name)) for name in _METRICS]
                if cells[0] is not None:
                    rows.append(_row(subject, run.name, *cells))
    return pd.DataFrame(rows, columns=list(COLUMNS.named))


def _row(subject: str, run: str, acc, strict, met) -> dict:
    return {
        "subject": subject,
        "model": acc.model,
        "variant": acc.variant,
        "run": run,
        "n": acc.n,
        "acc": acc.value,
        "stderr": acc.stderr,
        "floor": acc.floor,
        "acc_strict": strict.value,
        "format_met": None if met is None else met.value,
    }


def _show(table: pd.DataFrame, request: PromptTables) -> pd.DataFrame:
    """One column a run, where the CSV file has a row; of a run that broke its name alone."""
    shown = table.assign(
        Subject=table["subject"].str.replace("_", " "),
        Model=table["model"] + table["variant"],
        cell=[
            f"{100 * acc:.0f}" + ("" if pd.isna(met) else f" ({100 * met:.0f})")
            for acc, met in zip(table["acc"], table["format_met"], strict=True)
        ],
    )
    index = ["Subject", "Model"]
    n = shown.groupby(index, sort=False)["n"].max().astype("string")
    wide = shown.pivot(index=index, columns="run", values="cell").loc[n.index]
    wide = wide.reindex(columns=[run.name for run in request.runs])
    wide.insert(0, "n", n)
    wide = wide.reset_index()
    return wide.drop(columns="Model") if wide["Model"].nunique() == 1 else wide


TABLE = Table(
    name="prompt_runs_by_subject",
    title="Prompt runs by subject",
    note=NOTE,
    columns=COLUMNS,
    asks=PromptTables,
    make=lambda inputs, request: prompt_runs_by_subject(
        pd.read_parquet(inputs.one("scores")), request
    ),
    show=_show,
)
