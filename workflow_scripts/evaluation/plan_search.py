"""Measure what plans cost one after the other in one model, untrained: sensitivities, then what they propose.

One record: its conditions are the plans, its subsets two stretches of one text. The search reads the
first; what it proposes is measured on the second, so that no plan is flattered by having been chosen.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from workflow_scripts.core.conditions import Condition
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.core.items import Item
from workflow_scripts.core.plan import ChunkPlan
from workflow_scripts.core.plan_proposals import CHECK, SEARCH, losses_of, proposals
from workflow_scripts.core.plan_search import Prediction, sensitivities
from workflow_scripts.core.records import Metric, Record, write_record
from workflow_scripts.evaluation.measurement import Measurement
from workflow_scripts.evaluation.perplexity import (
    Scored,
    perplexity_items,
    perplexity_metrics,
    response_perplexity,
    text_perplexity,
)
from workflow_scripts.evaluation.plans import perplexity_protocol
from workflow_scripts.evaluation.record_parts import own_task
from workflow_scripts.evaluation.requests import SearchRequest
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.manifest import Manifest
from workflow_scripts.hub.mirror import read_rows
from workflow_scripts.hub.recording import Recording
from workflow_scripts.settings.plan_measures import MAGPIE, WIKITEXT

# All layers, in their own order at first; nothing is added to them.
_AS_IT_IS = {
    **{"num_chunks": 0, "num_layers_per_chunk": 0, "use_adapters": False},
    **{"aggregation_mode": "residual", "aggregation_base": "none", "chunk_execution": "loop"},
}
Scoring = Callable[[Any], list[Scored]]  # of a model


def measure_plan_search(model: Path, hub: Path, path: Path, request: SearchRequest) -> Record:
    recording, search = Recording(), request.search
    loaded = load_model(model, chunking=_AS_IT_IS, **request.compute.loading)
    layers = loaded.model.config.num_hidden_layers
    scorings, dataset = _scorings(loaded, hub, request)
    metrics: list[Metric] = []
    items: list[Item] = []

    def measured(subset: str, name: str, plan: ChunkPlan) -> None:
        print(f"perplexity of {name} ({subset})", flush=True)
        loaded.model.model.rearrange(plan)
        pieces, condition = scorings[subset](loaded.model), Condition(plan=name)
        for metric in perplexity_metrics(pieces, condition):
            metrics.append(metric.model_copy(update={"subset": subset}))
        for item in perplexity_items(search.text, pieces, condition):
            items.append(replace(item, item=f"{subset}/{item.item}", subset=subset))

    unchanged = ChunkPlan(tuple(range(layers)), (), ())
    for subset in (SEARCH, CHECK):
        measured(subset, UNCHANGED, unchanged)
    for candidate in sensitivities(layers):
        measured(SEARCH, candidate.name, candidate.plan)
    prediction = Prediction(layers, losses_of(metrics))
    proposed = proposals(prediction, search.depths(layers), search, request.seed)
    for candidate in dict.fromkeys(one.candidate for one in proposed):
        measured(CHECK, candidate.name, candidate.plan)
    return write_record(
        path,
        items,
        study="chunk_search",
        task=own_task(search.text, dataset, "validation" if search.text == "wikitext" else "train"),
        protocol=perplexity_protocol(
            loaded, request, {"window": request.window, "tokens": search.tokens, "layers": layers}
        ),
        metrics=tuple(metrics),
        **recording.parts(request, loaded, int(sum(item.scores["tokens"] for item in items))),
    )


def _scorings(
    loaded: LoadedModel, hub: Path, request: SearchRequest
) -> tuple[dict[str, Scoring], Manifest]:
    """How a plan is scored on each of the two stretches of the text."""
    tokenizer, wanted = loaded.tokenizer, request.search.tokens
    window = min(request.window, loaded.model.config.max_position_embeddings)
    if request.search.text == "wikitext":
        rows, dataset = read_rows(hub, WIKITEXT, "wikitext-103-v1", "validation")
        text = "\n\n".join(row["text"] for row in rows)
        halves = dict(zip((SEARCH, CHECK), _stretches(tokenizer, text, wanted), strict=True))

        return {
            subset: partial(
                text_perplexity, tokenizer=tokenizer, text=half, window=window, stride=window
            )
            for subset, half in halves.items()
        }, dataset
    rows, dataset = read_rows(hub, MAGPIE, None, "train")
    taken = iter((row["instruction"], row["response"]) for row in rows if row["response"].strip())
    pairs = {subset: _enough(tokenizer, taken, wanted) for subset in (SEARCH, CHECK)}
    return {
        subset: partial(response_perplexity, tokenizer=tokenizer, pairs=some, window=window)
        for subset, some in pairs.items()
    }, dataset


def _stretches(tokenizer: Any, text: str, wanted: int) -> tuple[str, str]:
    """The text of the first `wanted` tokens, and that of as many behind it."""
    offsets = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False, verbose=False)[
        "offset_mapping"
    ]
    if len(offsets) < 2 * wanted:
        raise _too_short(wanted, "wikitext", len(offsets))
    middle, end = offsets[wanted - 1][1], offsets[2 * wanted - 1][1]
    return text[:middle], text[middle:end]


def _enough(tokenizer: Any, pairs: Iterable[tuple[str, str]], wanted: int) -> list[tuple[str, str]]:
    """So many of the next responses that they have the wanted tokens."""
    taken, tokens = [], 0
    for pair in pairs:
        taken.append(pair)
        tokens += len(tokenizer(pair[1], add_special_tokens=False)["input_ids"])
        if tokens >= wanted:
            return taken
    raise _too_short(wanted, "magpie", tokens)


def _too_short(wanted: int, text: str, found: int) -> UserError:
    return UserError(
        f"chunking.search.tokens is {wanted}, and {text} has only {found} tokens left; expected a text"
        " of twice as many, for the search and for checking what it proposes."
    )


MEASUREMENT = Measurement(SearchRequest, measure_plan_search)
