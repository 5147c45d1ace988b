"""Make the leaderboard's tab of chunked models: each checkpoint's plan, perplexity and MMLU in one row."""

from dataclasses import replace
from pathlib import Path

from workflow_scripts.core.ids import UNCHANGED, CheckpointId
from workflow_scripts.render.frames import Cells, cells, checkpoint_of
from workflow_scripts.render.tables import read_table
from workflow_scripts.render.web.board import Column, Tab
from workflow_scripts.studies.mmlu.by_subject import MACRO
from workflow_scripts.studies.training.stages import texts_of


def make_chunked_tab(plans: list[Path], stages: list[Path], mmlu: list[Path]) -> Tab:
    """Make a row of each checkpoint from those tables that the config makes."""
    by_plan = {checkpoint_of(row): row for row in _read_rows(plans)}
    by_stage = {checkpoint_of(row): row for row in _read_rows(stages)}
    macro_rows = [row for row in _read_rows(mmlu) if row["subject"] == MACRO]
    by_mmlu = {checkpoint_of(row): row for row in macro_rows}
    for name in list(by_plan):
        checkpoint = CheckpointId.parse(name)
        if checkpoint.plan == UNCHANGED:
            by_plan[checkpoint.model] = by_plan[name]
    texts = texts_of(next(iter(by_stage.values()), {}))
    rows = []
    for name in {**by_mmlu, **by_stage} or by_plan:
        checkpoint = CheckpointId.parse(name)
        stage = by_stage.get(name, {})
        row = {
            **by_plan.get(str(replace(checkpoint, stages=())), {}),
            **by_mmlu.get(name, {}),
            **stage,
            **{f"{text}_stderr": stage.get(f"{text} stderr") for text in texts},
        }
        stages_done = ", ".join(checkpoint.stages) or "untrained"
        stage_name = stages_done if checkpoint.variant else "original"
        rows.append(row | {"name": name, "model": checkpoint.model, "stage": stage_name})
    columns = [
        Column("name", "Model", "name"),
        Column("model", "Base", "choice", "The model that was cut into chunks.", shown=False),
        Column("stage", "Stage", "choice", "The stages of training."),
        Column("acc", "MMLU acc", "score", "The likeliest letter; mean over the subjects."),
        Column("qem", "MMLU qem", "score", "The generated answer after HELM's normalisation."),
        Column("em", "MMLU em", "score", "The generated answer as it is."),
        *(Column(text, text.capitalize(), "number", "Perplexity.") for text in texts),
        Column("depth", "Depth", "count", "Layers that run one after the other."),
        Column("parameters", "Parameters", "count"),
        Column("new_parameters", "New", "count", "Adapters and aggregation.", shown=False),
        Column("trained_parameters", "Trained", "count", "Parameters that the stage trains."),
        Column("tokens", "Tokens", "count", "Tokens trained on in the stage.", shown=False),
        Column("published_qem", "Published qem", "score", "On all of MMLU.", shown=False),
    ]
    measured = {field for row in rows for field, value in row.items() if value is not None}
    return Tab(
        id="chunked",
        title="Chunked models",
        about=(
            "Models whose layers run in parallel in chunks, before and after each stage of training."
            " Scores in percent and perplexities, ± standard error; of perplexity, lower is better."
        ),
        columns=[column for column in columns if column.field in measured],
        rows=rows,
    )


def _read_rows(paths: list[Path]) -> list[Cells]:
    return [row for path in paths for row in cells(read_table(path))]
