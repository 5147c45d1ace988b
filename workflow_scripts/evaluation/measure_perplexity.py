"""Measure the perplexity of a model under many chunk plans, without training, or of one checkpoint.

Write one record per text; its conditions are the plans and the other varied settings.
"""

from pathlib import Path
from typing import Any

from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.evaluation.perplexity import (
    PerplexityRecord,
    score_instruction_responses,
    score_text,
)
from workflow_scripts.evaluation.plan_models import load_plans
from workflow_scripts.evaluation.record_parts import build_task_facts
from workflow_scripts.evaluation.requests import PerplexityRequest
from workflow_scripts.hub.manifest import get_hub_folder
from workflow_scripts.hub.mirror import read_rows
from workflow_scripts.hub.record_fields import RunTracker
from workflow_scripts.settings.plan_measures import MAGPIE, WIKITEXT


@validate_call
def measure_perplexity(
    model: Path, data: list[Path], wikitext: Path, magpie: Path, request: PerplexityRequest
) -> None:
    """Measure the perplexity of a text and of responses under the unchanged model and under each plan."""
    tracker = RunTracker()
    hub, measures = get_hub_folder(data), request.measures
    rows, manifest = read_rows(hub, WIKITEXT, "wikitext-103-v1", "validation")
    text_record = PerplexityRecord(
        build_task_facts("wikitext", WIKITEXT, manifest.commit, "validation")
    )
    text = "\n\n".join(row["text"] for row in rows)
    rows, manifest = read_rows(hub, MAGPIE, None, "train")
    response_record = PerplexityRecord(build_task_facts("magpie", MAGPIE, manifest.commit, "train"))
    pairs_by_level = {
        level: _select_pairs(rows, measures.responses, level) for level in measures.difficulties
    }
    for plan_condition, loaded in load_plans(model, request.plans, request.compute):
        print(f"perplexity of {loaded.manifest.repository}, {plan_condition['plan']}", flush=True)
        if request.study == "training":  # the checkpoint id already contains the plan
            plan_condition = {}
        window = min(measures.window, loaded.model.config.max_position_embeddings)
        spans = score_text(
            loaded.model,
            loaded.tokenizer,
            text,
            window=window,
            stride=min(measures.stride, window),
            max_tokens=measures.text_tokens,
        )
        condition = Condition(**plan_condition) if plan_condition else None
        text_record.add(spans, condition, measures.perplexity_mean)
        for level, pairs in pairs_by_level.items():
            spans = score_instruction_responses(
                loaded.model, loaded.tokenizer, pairs, window=window
            )
            condition = Condition(**plan_condition, difficulty=level)
            response_record.add(spans, condition, measures.perplexity_mean)
    for path, record, keys in (
        (wikitext, text_record, {"window", "stride", "text_tokens"}),
        (magpie, response_record, {"window", "responses", "difficulties"}),
    ):
        generation = measures.model_dump(mode="json", include=keys | {"perplexity_mean"})
        record.write(path, request, loaded, tracker, request.study, generation)


def _select_pairs(rows: list[dict[str, Any]], number: int, level: str) -> list[tuple[str, str]]:
    """Return the first `number` pairs of instruction and response of a difficulty."""
    selected = [row for row in rows if row["difficulty"] == level and row["response"].strip()]
    if not selected:
        raise UserError(f"chunking.measures.difficulties: {MAGPIE} has no {level!r}.")
    return [(row["instruction"], row["response"]) for row in selected[:number]]


if "snakemake" in globals():
    run_job(measure_perplexity, snakemake)
