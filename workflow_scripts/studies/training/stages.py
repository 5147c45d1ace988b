"""What each stage of training is worth: perplexity before and after it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.training_record import TrainingRecord, read_training_record
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers, perplexity, with_errors

NOTE = (
    "Perplexity ± standard error of wikitext's validation text and of Magpie's responses (their"
    " difficulty in brackets); lower is better. Trained: parameters that the stage trains. Held out:"
    " the loss of its own held-out samples, in nats per token, at the state that is kept."
)
UNTRAINED = "untrained"  # in place of a stage
_INTEGERS = ["trained_parameters", "steps", "tokens"]
_COLUMNS = ["model", "variant", "stage", "recipe", *_INTEGERS, "held_out_loss"]


def texts_of(columns: Iterable[str]) -> list[str]:
    """The texts of which there is a column of perplexity, and one of its standard error."""
    return [name.removesuffix(" stderr") for name in columns if name.endswith(" stderr")]


def text_of(rows: pd.DataFrame) -> pd.Series:
    """What was read: each difficulty of a task is a text of its own, as `magpie (easy)`."""
    return rows["task"] + (" (" + rows["difficulty"] + ")").fillna("")


def compute_stages(
    scores: pd.DataFrame,
    trained: Sequence[TrainingRecord],
    checkpoints: Sequence[str],
    texts: Sequence[str],
) -> pd.DataFrame:
    """Compute one row per checkpoint, with its perplexity and standard error on each text."""
    rows = scores[scores["metric"] == "perplexity"]
    keys = zip(rows["model"] + rows["variant"].fillna(""), text_of(rows), strict=True)
    found = dict(zip(keys, zip(rows["value"], rows["stderr"], strict=True), strict=True))
    by_record = {record.trained.id: record for record in trained}
    table = []
    for name in checkpoints:
        checkpoint = CheckpointId.parse(name)
        row: dict[str, Any] = {
            "model": checkpoint.model,
            "variant": checkpoint.variant or None,
            "stage": checkpoint.stages[-1] if checkpoint.stages else UNTRAINED,
        }
        if record := by_record.get(name):
            row |= {
                "recipe": record.recipe,
                "trained_parameters": record.report["trained_parameters"],
                "steps": record.facts["steps"],
                "tokens": record.facts["tokens"],
                "held_out_loss": _held_out(record),
            }
        for text in texts:  # where its cell is broken, there is nothing
            row[text], row[f"{text} stderr"] = found.get((name, text), (None, None))
        table.append(row)
    perplexities = [column for text in texts for column in (text, f"{text} stderr")]
    numeric = dict.fromkeys(["held_out_loss", *perplexities], "float64")
    numeric |= dict.fromkeys(_INTEGERS, "Int64")
    return pd.DataFrame(table, columns=[*_COLUMNS, *perplexities]).astype(numeric)


def _held_out(record: TrainingRecord) -> float | None:
    """At the kept state, which may be an earlier one than the last."""
    kept = record.selected["step"]
    found = [
        entry.held_out["loss"] for entry in record.curve if entry.held_out and entry.step == kept
    ]
    return found[-1] if found else None


def _format_columns(table: pd.DataFrame) -> ShownColumns:
    return {
        "Model": table["model"],
        "Variant": table["variant"],
        "Recipe": table["recipe"],
        "Trained": numbers(table["trained_parameters"], ",d"),
        "Steps": numbers(table["steps"], ",d"),
        "Tokens": numbers(table["tokens"], ",d"),
        "Held out": numbers(table["held_out_loss"]),
        **{
            text.capitalize(): with_errors(table[text], table[f"{text} stderr"], perplexity)
            for text in texts_of(table)
        },
    }


def main(
    scores: Path,
    records: list[Path],
    table: list[Path],
    checkpoints: Sequence[str],
    texts: Sequence[str],
) -> None:
    trained = [read_training_record(path) for path in records]
    stages = compute_stages(pd.read_parquet(scores), trained, checkpoints, texts)
    title = "Perplexity after each stage of training"
    write_table(stages, table, title=title, note=NOTE, shown=_format_columns(stages))


if "snakemake" in globals():
    run_job(main, snakemake)
