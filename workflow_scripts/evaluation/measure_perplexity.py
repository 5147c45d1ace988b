"""Measure the perplexity of a model in many chunk plans, before any training, or of one checkpoint.

One record per text; its conditions are the plans, and what else was varied.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.records import Metric, Protocol, write_record
from workflow_scripts.evaluation.perplexity import (
    Scored,
    build_perplexity_items,
    compute_perplexity_metrics,
    score_instruction_responses,
    score_text,
)
from workflow_scripts.evaluation.record_parts import build_protocol, build_task_facts
from workflow_scripts.evaluation.requests import PerplexityRequest, WrittenRequest
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.manifest import get_hub_folder
from workflow_scripts.hub.mirror import read_rows
from workflow_scripts.hub.record_fields import Recording
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.plan_measures import MAGPIE, WIKITEXT

Pieces = list[tuple[Condition | None, list[Scored]]]


def measure_perplexity(
    model: Path, hub: Path, wikitext: Path, magpie: Path, request: PerplexityRequest
) -> None:
    """Measure perplexity of a text and of responses, of the model as it is and in each plan."""
    recording, measures = Recording(), request.measures
    rows, text_dataset = read_rows(hub, WIKITEXT, "wikitext-103-v1", "validation")
    text = "\n\n".join(row["text"] for row in rows)
    rows, response_dataset = read_rows(hub, MAGPIE, None, "train")
    pairs = {level: _responses(rows, measures.responses, level) for level in measures.difficulties}
    texts: Pieces = []
    responses: Pieces = []
    for plan in (None, *request.plans):
        loaded = load_model(model, chunking=plan.keys if plan else None, **request.compute.loading)
        if plan is None:
            layers = loaded.model.config.num_hidden_layers
        # Of a checkpoint the plan is part of the model's own id.
        varied = {} if request.study == "training" else plan_condition(plan, layers)
        print(f"perplexity of {varied.get('plan', loaded.manifest.repository)}", flush=True)
        window = min(measures.window, loaded.model.config.max_position_embeddings)
        scored = score_text(
            loaded.model,
            loaded.tokenizer,
            text,
            window=window,
            stride=min(measures.stride, window),
            most_tokens=measures.text_tokens,
        )
        texts.append((Condition(**varied) if varied else None, scored))
        for level, chosen in pairs.items():
            scored = score_instruction_responses(
                loaded.model, loaded.tokenizer, chosen, window=window
            )
            responses.append((Condition(**varied, difficulty=level), scored))
    for path, task, pieces, keys in (
        (
            wikitext,
            build_task_facts("wikitext", text_dataset, "validation"),
            texts,
            {"window", "stride", "text_tokens", "perplexity_mean"},
        ),
        (
            magpie,
            build_task_facts("magpie", response_dataset, "train"),
            responses,
            {"window", "responses", "difficulties", "perplexity_mean"},
        ),
    ):
        items = []
        metrics: list[Metric] = []
        for condition, scored in pieces:
            items += build_perplexity_items(task.name, scored, condition)
            metrics += compute_perplexity_metrics(scored, condition, measures.perplexity_mean)
        generation = measures.model_dump(mode="json", include=keys)
        write_record(
            path,
            items,
            study=request.study,
            task=task,
            protocol=build_perplexity_protocol(loaded, request, generation),
            metrics=tuple(metrics),
            **recording.parts(request, loaded, int(sum(item.scores["tokens"] for item in items))),
        )


def build_perplexity_protocol(
    loaded: LoadedModel,
    request: PerplexityRequest | WrittenRequest,
    generation: dict[str, Any],
) -> Protocol:
    return build_protocol(
        "perplexity",
        loaded,
        seed=request.seed,
        batch_size=request.compute.batch_size,
        chat_template=loaded.tokenizer.chat_template is not None,
        generation=generation,
    )


def plan_condition(plan: Checkpoint | None, layers: int) -> dict[str, str | None]:
    """Describe a plan as conditions."""
    if plan is None:
        return {"plan": UNCHANGED}
    return {
        "plan": plan.plan_name(layers),
        "aggregation": plan.aggregation,
        "adapters": plan.adapters,
    }


def _responses(rows: list[dict[str, Any]], number: int, level: str) -> list[tuple[str, str]]:
    """Select the first responses of a difficulty."""
    chosen = [row for row in rows if row["difficulty"] == level and row["response"].strip()]
    if not chosen:
        raise UserError(f"chunking.measures.difficulties: {MAGPIE} has no {level!r}.")
    return [(row["instruction"], row["response"]) for row in chosen[:number]]


def main(
    model: Path, data: list[Path], wikitext: Path, magpie: Path, request: dict[str, Any]
) -> None:
    measure_perplexity(
        model, get_hub_folder(data[0]), wikitext, magpie, PerplexityRequest.of(request)
    )


if "snakemake" in globals():
    run_job(main, snakemake)
