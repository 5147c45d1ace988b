"""What each stage of training is worth: perplexity before and after it."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.training_record import TrainingRecord
from workflow_scripts.render.tables import write_table
from workflow_scripts.studies.chunking.perplexity import big

TITLE = "Perplexity after each stage of training"
NOTE = (
    "Perplexity ± standard error of wikitext's validation text and of Magpie's responses (their"
    " difficulty in brackets); lower is better. Trained: parameters that the stage trains. Held out:"
    " the loss of its own held-out samples, in nats per token, at the state that is kept."
)


def stages_table(
    scores: pd.DataFrame, trained: Sequence[TrainingRecord], checkpoints: Sequence[str]
) -> pd.DataFrame:
    """One row a checkpoint, in the given order; a column of perplexity and its error a text."""
    rows = scores[scores["metric"] == "perplexity"].copy()
    rows["checkpoint"] = rows["model"] + rows["variant"].fillna("")
    rows["text"] = rows["task"] + (" (" + rows["difficulty"] + ")").fillna("")
    by_record = {record.trained.id: record for record in trained}
    table = []
    for name in checkpoints:
        checkpoint = CheckpointId.parse(name)
        row = {
            "model": checkpoint.model,
            "variant": checkpoint.variant or None,
            "stage": checkpoint.stages[-1] if checkpoint.stages else "untrained",
        }
        for at in rows[rows["checkpoint"] == name].sort_values("text").itertuples():
            row[at.text] = at.value
            row[f"{at.text} stderr"] = at.stderr
        if record := by_record.get(name):
            row |= {
                "recipe": record.recipe,
                "trained_parameters": record.report["trained_parameters"],
                "steps": record.facts["steps"],
                "tokens": record.facts["tokens"],
                "held_out_loss": _held_out(record),
            }
        table.append(row)
    columns = ["model", "variant", "stage", "recipe", "trained_parameters", "steps", "tokens"]
    frame = pd.DataFrame(table)
    texts = [c for c in frame.columns if c.startswith(("wikitext", "magpie"))]
    return frame.reindex(columns=[*columns, "held_out_loss", *texts]).astype(
        {"trained_parameters": "Int64", "steps": "Int64", "tokens": "Int64"}
    )


def _held_out(record: TrainingRecord) -> float | None:
    """At the kept state, which may be an earlier one than the last."""
    kept = record.selected["step"]
    found = [
        entry.held_out["loss"] for entry in record.curve if entry.held_out and entry.step == kept
    ]
    return found[-1] if found else None


def write_stages_table(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=_show)


def _show(table: pd.DataFrame) -> pd.DataFrame:
    shown = {
        "Model": table["model"],
        "Variant": table["variant"],
        "Recipe": table["recipe"],
        "Trained": _with_commas(table["trained_parameters"]),
        "Steps": _with_commas(table["steps"]),
        "Tokens": _with_commas(table["tokens"]),
        "Held out": [None if pd.isna(v) else f"{v:.3f}" for v in table["held_out_loss"]],
    }
    texts = [c for c in table.columns if c.startswith(("wikitext", "magpie")) and "stderr" not in c]
    for text in texts:
        shown[text.capitalize()] = [
            None if pd.isna(value) else f"{big(value)} ± {big(error)}"
            for value, error in zip(table[text], table[f"{text} stderr"], strict=True)
        ]
    return pd.DataFrame(shown)


def _with_commas(column: pd.Series) -> list[str | None]:
    return [None if pd.isna(value) else f"{value:,}" for value in column]
