"""Measure the perplexity of a model under many chunk plans, without training, or of one checkpoint.

Write one record per text; its conditions are the plans and the other varied settings.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.core.items import Item
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.evaluation.perplexity import (
    Scored,
    build_perplexity_items,
    compute_perplexity_metrics,
    score_instruction_responses,
    score_text,
)
from workflow_scripts.evaluation.record_parts import build_protocol, build_task_facts
from workflow_scripts.evaluation.requests import PerplexityRequest
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import get_hub_folder
from workflow_scripts.hub.mirror import read_rows
from workflow_scripts.hub.record_fields import Recording
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.plan_measures import MAGPIE, WIKITEXT


def measure_perplexity(
    model: Path, data: list[Path], wikitext: Path, magpie: Path, request: dict[str, Any]
) -> None:
    """Measure the perplexity of a text and of responses under the unchanged model and under each plan."""
    recording, params = Recording(), PerplexityRequest.of(request)
    hub, measures = get_hub_folder(data[0]), params.measures
    lines, text_manifest = read_rows(hub, WIKITEXT, "wikitext-103-v1", "validation")
    text = "\n\n".join(row["text"] for row in lines)
    rows, response_manifest = read_rows(hub, MAGPIE, None, "train")
    pairs = {level: _select(rows, measures.responses, level) for level in measures.difficulties}
    items: dict[str, list[Item]] = {"wikitext": [], "magpie": []}
    metrics: dict[str, list[Metric]] = {"wikitext": [], "magpie": []}

    def add(task: str, pieces: list[Scored], **varied: Any) -> None:
        condition = Condition(**varied) if varied else None
        items[task] += build_perplexity_items(task, pieces, condition)
        metrics[task] += compute_perplexity_metrics(pieces, condition, measures.perplexity_mean)

    for plan in (None, *params.plans):
        loaded = load_model(model, chunking=plan and plan.keys, **params.compute.loading)
        config = loaded.model.config
        varied = build_plan_condition(plan, config.num_hidden_layers)
        print(f"perplexity of {loaded.manifest.repository}, {varied['plan']}", flush=True)
        if params.study == "training":  # the checkpoint id already contains the plan
            varied = {}
        window = min(measures.window, config.max_position_embeddings)
        pieces = score_text(
            loaded.model,
            loaded.tokenizer,
            text,
            window=window,
            stride=min(measures.stride, window),
            most_tokens=measures.text_tokens,
        )
        add("wikitext", pieces, **varied)
        for level, level_pairs in pairs.items():
            pieces = score_instruction_responses(
                loaded.model, loaded.tokenizer, level_pairs, window=window
            )
            add("magpie", pieces, **varied, difficulty=level)
    wikitext_keys = {"window", "stride", "text_tokens", "perplexity_mean"}
    magpie_keys = {"window", "responses", "difficulties", "perplexity_mean"}
    for path, task, dataset, keys in (
        (wikitext, "wikitext", (WIKITEXT, text_manifest.commit, "validation"), wikitext_keys),
        (magpie, "magpie", (MAGPIE, response_manifest.commit, "train"), magpie_keys),
    ):
        write_record(
            path,
            items[task],
            study=params.study,
            task=build_task_facts(task, *dataset),
            protocol=build_protocol(
                "perplexity",
                loaded,
                seed=params.seed,
                batch_size=params.compute.batch_size,
                chat_template=loaded.tokenizer.chat_template is not None,
                generation=measures.model_dump(mode="json", include=keys),
            ),
            metrics=tuple(metrics[task]),
            **recording.parts(
                params, loaded, int(sum(item.scores["tokens"] for item in items[task]))
            ),
        )


def build_plan_condition(plan: Checkpoint | None, layers: int) -> dict[str, str | None]:
    """Build the condition fields of a plan, or of the unchanged model."""
    if plan is None:
        return {"plan": UNCHANGED}
    return {
        "plan": plan.plan_name(layers),
        "aggregation": plan.aggregation,
        "adapters": plan.adapters,
    }


def _select(rows: list[dict[str, Any]], number: int, level: str) -> list[tuple[str, str]]:
    """Select the first `number` instruction-response pairs of a difficulty."""
    selected = [row for row in rows if row["difficulty"] == level and row["response"].strip()]
    if not selected:
        raise UserError(f"chunking.measures.difficulties: {MAGPIE} has no {level!r}.")
    return [(row["instruction"], row["response"]) for row in selected[:number]]


if "snakemake" in globals():
    run_job(measure_perplexity, snakemake)
