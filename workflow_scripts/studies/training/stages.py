"""What each stage of training is worth: perplexity before and after it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.training_record import TrainingRecord, read_training_record
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import format_with_errors, numbers, perplexity

NOTE = (
    "Perplexity ± standard error of wikitext's validation text and of Magpie's responses (their"
    " difficulty in brackets); lower is better. Trained: parameters that the stage trains. Held out:"
    " the loss of its own held-out samples, in nats per token, at the state that is kept."
)
UNTRAINED = "untrained"  # in place of a stage
_INTEGERS = ["trained_parameters", "steps", "tokens"]
_COLUMNS = ["model", "variant", "stage", "recipe", *_INTEGERS, "held_out_loss"]


def get_text_names(columns: Iterable[str]) -> list[str]:
    """The texts of which there is a column of perplexity, and one of its standard error."""
    return [name.removesuffix(" stderr") for name in columns if name.endswith(" stderr")]


def name_texts(rows: pd.DataFrame) -> pd.Series:
    """What was read: each difficulty of a task is a text of its own, as `magpie (easy)`."""
    return rows["task"] + (" (" + rows["difficulty"] + ")").fillna("")


def compute_stages(
    scores: pd.DataFrame,
    trained: Sequence[TrainingRecord],
    checkpoints: Sequence[str],
    texts: Sequence[str],
) -> pd.DataFrame:
    """Compute one row per checkpoint, with its perplexity and standard error on each text."""
    ids = [CheckpointId.parse(name) for name in checkpoints]
    table = pd.DataFrame(
        {
            "model": [id.model for id in ids],
            "variant": [id.variant or None for id in ids],
            "stage": [id.stages[-1] if id.stages else UNTRAINED for id in ids],
        },
        index=checkpoints,
    )
    facts = {
        record.trained.id: {
            "recipe": record.recipe,
            "trained_parameters": record.report["trained_parameters"],
            "steps": record.facts["steps"],
            "tokens": record.facts["tokens"],
            "held_out_loss": _held_out(record),
        }
        for record in trained
    }
    table = table.join(pd.DataFrame.from_dict(facts, orient="index", columns=_COLUMNS[3:]))
    rows = scores[scores["metric"] == "perplexity"]
    rows = rows.assign(id=rows["model"] + rows["variant"].fillna(""), text=name_texts(rows))
    for text in texts:  # where its cell is broken, there is nothing
        read = rows[rows["text"] == text].set_index("id").reindex(table.index)
        table[text], table[f"{text} stderr"] = read["value"], read["stderr"]
    numeric = dict.fromkeys(_INTEGERS, "Int64") | {"held_out_loss": "float64"}
    return table.astype(numeric).reset_index(drop=True)


def _held_out(record: TrainingRecord) -> float | None:
    """Return the loss of the kept state, which may be an earlier one than the last."""
    losses = {entry.step: entry.held_out["loss"] for entry in record.curve if entry.held_out}
    return losses.get(record.selected["step"])


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
            text.capitalize(): format_with_errors(table[text], table[f"{text} stderr"], perplexity)
            for text in get_text_names(table)
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
