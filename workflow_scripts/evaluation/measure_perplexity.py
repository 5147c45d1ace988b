"""Measure the perplexity of a model under many chunk plans, without training, or of one checkpoint.

Write one record per text; its conditions are the plans and the other varied settings.
"""

from collections.abc import Iterator
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
from workflow_scripts.evaluation.record_parts import build_task_facts, describe_run
from workflow_scripts.evaluation.requests import PerplexityRequest
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.manifest import get_hub_folder
from workflow_scripts.hub.mirror import read_rows
from workflow_scripts.hub.record_fields import RunTracker
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.plan_measures import MAGPIE, WIKITEXT, PerplexityMean


def measure_perplexity(
    model: Path, data: list[Path], wikitext: Path, magpie: Path, request: dict[str, Any]
) -> None:
    """Measure the perplexity of a text and of responses under the unchanged model and under each plan."""
    tracker, params = RunTracker(), PerplexityRequest.model_validate(request)
    hub, measures = get_hub_folder(data[0]), params.measures
    rows, manifest = read_rows(hub, WIKITEXT, "wikitext-103-v1", "validation")
    texts = PerplexityRecord("wikitext", WIKITEXT, manifest.commit, "validation")
    text = "\n\n".join(row["text"] for row in rows)
    rows, manifest = read_rows(hub, MAGPIE, None, "train")
    responses = PerplexityRecord("magpie", MAGPIE, manifest.commit, "train")
    pairs = {level: _select(rows, measures.responses, level) for level in measures.difficulties}
    for varied, loaded in load_plans(model, params.plans, params.compute):
        print(f"perplexity of {loaded.manifest.repository}, {varied['plan']}", flush=True)
        if params.study == "training":  # the checkpoint id already contains the plan
            varied = {}
        window = min(measures.window, loaded.model.config.max_position_embeddings)
        pieces = score_text(
            loaded.model,
            loaded.tokenizer,
            text,
            window=window,
            stride=min(measures.stride, window),
            most_tokens=measures.text_tokens,
        )
        condition = Condition(**varied) if varied else None
        texts.add(pieces, condition, measures.perplexity_mean)
        for level, level_pairs in pairs.items():
            pieces = score_instruction_responses(
                loaded.model, loaded.tokenizer, level_pairs, window=window
            )
            condition = Condition(**varied, difficulty=level)
            responses.add(pieces, condition, measures.perplexity_mean)
    for path, record, keys in (
        (wikitext, texts, {"window", "stride", "text_tokens"}),
        (magpie, responses, {"window", "responses", "difficulties"}),
    ):
        generation = measures.model_dump(mode="json", include=keys | {"perplexity_mean"})
        record.write(path, params, loaded, tracker, params.study, generation)


class PerplexityRecord:
    """The items and metrics of one text under each condition."""

    def __init__(self, *task: str):
        """Build the task facts; `task` holds the arguments of `build_task_facts`."""
        self.task = build_task_facts(*task)
        self._items: list[Item] = []
        self._metrics: list[Metric] = []

    def add(
        self,
        pieces: list[Scored],
        condition: Condition | None,
        mean: PerplexityMean = "tokens",
        texts: list[str] | None = None,
    ) -> None:
        """Add the scores of one condition; `texts` are the scored texts if the model generated them."""
        self._items += build_perplexity_items(self.task.name, pieces, condition, texts)
        self._metrics += compute_perplexity_metrics(pieces, condition, mean)

    def write(
        self,
        path: Path,
        request: Any,
        loaded: LoadedModel,
        tracker: RunTracker,
        study: str,
        generation: dict[str, Any],
    ) -> None:
        tokens = int(sum(item.scores["tokens"] for item in self._items))
        write_record(
            path,
            self._items,
            study=study,
            task=self.task,
            **describe_run(
                "perplexity",
                request,
                loaded,
                tracker,
                tokens,
                chat_template=loaded.tokenizer.chat_template is not None,
                generation=generation,
            ),
            metrics=tuple(self._metrics),
        )


def load_plans(
    model: Path, plans: tuple[Checkpoint, ...], compute: Loading
) -> Iterator[tuple[dict[str, str | None], LoadedModel]]:
    """Yield the unchanged model and then each plan's model, with the plan's condition fields."""
    loaded = load_model(model, **compute.loading)
    layers = loaded.model.config.num_hidden_layers
    yield {"plan": UNCHANGED}, loaded
    del loaded
    for plan in plans:
        yield (
            build_plan_condition(plan, layers),
            load_model(model, chunking=plan.keys, **compute.loading),
        )


def build_plan_condition(plan: Checkpoint, layers: int) -> dict[str, str | None]:
    """Return the condition fields of a plan; its name is without aggregation and adapters."""
    return {
        "plan": plan.build_id(layers).layout.variant.removeprefix("@"),
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
