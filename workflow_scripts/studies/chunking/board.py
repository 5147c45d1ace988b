"""The leaderboard's tab of chunked models: each variant's plan, perplexity and MMLU in one row."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from workflow_scripts.core.ids import UNCHANGED, CheckpointId
from workflow_scripts.render.frames import Cells, cells, checkpoint_of
from workflow_scripts.render.tables import read_table
from workflow_scripts.render.web.board import Column, Details, Row, Tab
from workflow_scripts.render.words import joined
from workflow_scripts.studies.chunking.plans import TABLE as PLANS
from workflow_scripts.studies.mmlu.by_subject import MACRO
from workflow_scripts.studies.training.stages import TABLE as STAGES
from workflow_scripts.studies.training.stages import texts_of

_MMLU = {
    "acc": ("MMLU acc", "The likeliest letter; mean over the subjects."),
    "qem": ("MMLU qem", "The generated answer after HELM's normalisation; mean over the subjects."),
    "em": ("MMLU em", "The generated answer as it is; mean over the subjects."),
}
_PLAN = ("depth", "layers", "parameters", "new_parameters")


def chunked_tab(plans: list[str], stages: list[str], mmlu: list[str]) -> Tab:
    """The tab of all checkpoints, from those tables that the config makes; what a table lacks has no value."""
    by_plan = {checkpoint_of(row): row for path in plans for row in cells(PLANS.read(Path(path)))}
    by_stage = {
        checkpoint_of(row): row for path in stages for row in cells(STAGES.read(Path(path)))
    }
    by_subject = defaultdict(list)
    for path in mmlu:
        for row in cells(read_table(Path(path))):
            by_subject[checkpoint_of(row)].append(row)
    by_plan |= {
        CheckpointId.parse(name).model: row
        for name, row in list(by_plan.items())
        if CheckpointId.parse(name).plan == UNCHANGED
    }
    texts = texts_of(next(iter(by_stage.values()), {}))
    # A plan that nothing was asked of, as the unchanged one, has nothing to show beside the others.
    rows = [
        _row(
            name,
            by_plan.get(str(replace(CheckpointId.parse(name), stages=())), {}),
            by_stage.get(name, {}),
            by_subject.get(name, []),
            texts,
        )
        for name in {**by_subject, **by_stage} or by_plan
    ]
    columns = _columns(texts)
    return Tab(
        id="chunked",
        title="Chunked models",
        about=(
            "Models whose layers run side by side in chunks, before and after each stage of training."
            " Scores in percent and perplexities, ± standard error; of perplexity, lower is better."
        ),
        columns=[c for c in columns if any(row.values.get(c.field) is not None for row in rows)],
        rows=rows,
        search=("name",),
    )


def _columns(texts: list[str]) -> list[Column]:
    return [
        Column("name", "Model", "name"),
        Column("model", "Base", "choice", "The model that was cut into chunks.", shown=False),
        Column("stage", "Stage", "choice", "The last stage of training."),
        *(
            Column(f"mmlu_{m}", title, "score", about, digits=1)
            for m, (title, about) in _MMLU.items()
        ),
        *(Column(f"ppl {text}", text.capitalize(), "number", "Perplexity.") for text in texts),
        Column("depth", "Depth", "count", "Layers that run one after the other."),
        Column("parameters", "Parameters", "count", ranged=True),
        Column("new_parameters", "New", "count", "Adapters and aggregation.", shown=False),
        Column("trained_parameters", "Trained", "count", "Parameters that the stage trains."),
        Column("tokens", "Tokens", "count", "Tokens trained on in the stage.", shown=False),
        Column("published", "Published qem", "score", "On all of MMLU.", shown=False, digits=1),
    ]


def _row(name: str, plan: Cells, stage: Cells, mmlu: list[Cells], texts: list[str]) -> Row:
    mean = next((row for row in mmlu if row["subject"] == MACRO), {})
    checkpoint = CheckpointId.parse(name)
    trained = "trained: " + ", ".join(checkpoint.stages) if checkpoint.stages else "untrained"
    values = {
        "name": name,
        "model": checkpoint.model,
        "stage": "original" if not checkpoint.variant else trained,
        **{field: plan.get(field) for field in _PLAN},
        **{field: stage.get(field) for field in ("trained_parameters", "tokens")},
        "published": mean.get("published_qem"),
    }
    for metric in _MMLU:
        values[f"mmlu_{metric}"] = mean.get(metric)
        values[f"mmlu_{metric}_stderr"] = mean.get(f"{metric}_stderr")
        values[f"mmlu_{metric}_n"] = mean.get("n")
    for text in texts:
        values[f"ppl {text}"] = stage.get(text)
        values[f"ppl {text}_stderr"] = stage.get(f"{text} stderr")
    # Asked for, but its cell is broken.
    broken = ["MMLU"] if mmlu and mean.get("n") is None else []
    broken += [text for text in texts if stage and stage[text] is None]
    facts = {
        "Plan": plan.get("plan"),
        "Largest difference of logits, fused from loop": plan.get("fused_from_loop"),
        "Largest difference of logits, from the base": plan.get("fused_from_base"),
        "Recipe": stage.get("recipe"),
        "Steps": stage.get("steps"),
        "Held-out loss": stage.get("held_out_loss"),
    }
    return Row(
        id=name,
        values=values,
        notes=[f"Not measured: {joined(broken)}"] if broken else [],
        details=Details(
            facts={key: value for key, value in facts.items() if value is not None},
            tasks=[_subject(row) for row in mmlu],
            percents=("floor", *_MMLU, *(f"± {metric}" for metric in _MMLU)),
        ),
    )


def _subject(row: Cells) -> Cells:
    cells = {"subject": row["subject"].replace("_", " "), "n": row["n"], "floor": row["floor"]}
    for metric in _MMLU:
        cells |= {metric: row[metric], f"± {metric}": row[f"{metric}_stderr"]}
    return cells
