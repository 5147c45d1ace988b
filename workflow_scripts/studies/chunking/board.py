"""The leaderboard's tab of chunked models: each variant's plan, perplexity and MMLU in one row."""

from collections import defaultdict
from pathlib import Path

from workflow_scripts.core.ids import UNCHANGED, CheckpointId
from workflow_scripts.render.cells import Cells, checkpoint_of, read_cells
from workflow_scripts.render.web.board import Column, Details, Row, Tab

_MMLU = {
    "acc": ("MMLU acc", "The likeliest letter; mean over the subjects."),
    "qem": ("MMLU qem", "The generated answer after HELM's normalisation; mean over the subjects."),
    "em": ("MMLU em", "The generated answer as it is; mean over the subjects."),
}
_PLAN = ("depth", "layers", "parameters", "new_parameters")


def chunked_tab(plans: list[str], stages: list[str], mmlu: list[str]) -> Tab:
    """Of those tables that the config makes; a variant that one of them lacks has no value there."""
    by_plan = {checkpoint_of(row): row for path in plans for row in read_cells(Path(path))}
    by_stage = {checkpoint_of(row): row for path in stages for row in read_cells(Path(path))}
    by_subject = defaultdict(list)
    by_plan |= {
        CheckpointId.parse(name).model: row
        for name, row in list(by_plan.items())
        if CheckpointId.parse(name).plan == UNCHANGED
    }
    for path in mmlu:
        for row in read_cells(Path(path)):
            by_subject[checkpoint_of(row)].append(row)
    texts = _texts(list(by_stage.values()))
    rows = [
        _row(
            name,
            by_plan.get(str(_plan_of(name)), {}),
            by_stage.get(name, {}),
            by_subject.get(name, []),
            texts,
        )
        for name in dict.fromkeys([*by_subject, *by_stage, *by_plan])
    ]
    # A plan that nothing was asked of, as the unchanged one, has nothing to show beside the others.
    scored = (*(f"mmlu_{metric}" for metric in _MMLU), *(f"ppl {text}" for text in texts))
    if any(_has(row, scored) for row in rows):
        rows = [row for row in rows if _has(row, scored)]
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


def _has(row: Row, fields: tuple[str, ...]) -> bool:
    return any(row.values[field] is not None for field in fields)


def _plan_of(name: str) -> CheckpointId:
    """The checkpoint before any stage of training, whose plan it has kept."""
    checkpoint = CheckpointId.parse(name)
    return CheckpointId(checkpoint.model, checkpoint.plan, checkpoint.mode)


def _texts(rows: list[Cells]) -> list[str]:
    return [name.removesuffix(" stderr") for name in (rows or [{}])[0] if name.endswith(" stderr")]


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
    mean = next((row for row in mmlu if row["subject"] == "macro"), {})
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
