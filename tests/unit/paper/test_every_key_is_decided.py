"""Whoever changes a key that can change an output loses the verdict: no key of a record is passed over.

The keys are those that records hold: of the protocol block, of the request, of what was trained before. A
key that comes later fails here until resources/published/protocols.yaml decides about it, or the list below
says why it cannot change an output.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pandas as pd
import pytest

from tests.unit.paper.nearest import AGREEING, CASES
from workflow_scripts.core.conditions import CONDITIONS
from workflow_scripts.core.records import Protocol
from workflow_scripts.render.verdict import AGREES, OTHER_PROTOCOL
from workflow_scripts.scores.published_protocols import YES

# --- What cannot change an output, because ...

SUMS = "sums are made in another order, and nothing else"
RAN = "what ran, or how many there were, stands in the record elsewhere, which is held against the published"
NAMED = "it names the cell: another one is held against other numbers, or none"
KEPT = "it is about what is kept, shown or written of the same run"
UNUSED = "nothing of what this cell was asked uses it"
WORDS = "the words of this run are our own, which takes its verdict in any case"
PROTOCOL = {
    **{"protocol.name": NAMED, "protocol.engine": SUMS, "protocol.threads": SUMS},
    **{f"request.compute.{key}": RAN for key in ("dtype", "attention")},
    **{f"request.compute.{key}": SUMS for key in ("device", "threads", "batch_size")},
}
CELLS = {
    **{f"request.{key}": NAMED for key in ("study", "protocol", "tasks.harness_task")},
    **{f"request.{key}": RAN for key in ("tasks.shots", "tasks.max_test_items", "chat_template")},
    "request.tasks.dataset": "where a task's rows lie is a part of its definition; this is what to fetch",
    **{"request.seeds": RAN, "request.recipe": RAN, "request.keep_texts": KEPT},
    "request.tasks.cluster": KEPT,
}
TRAINING = {
    **dict.fromkeys(("micro_batch_size", "compile", "gpus"), SUMS),
    **dict.fromkeys(("lora_output", "save_every"), KEPT),
}
WITHOUT_LORA = dict.fromkeys(("lora_rank", "lora_alpha", "lora_dropout", "lora_targets"), UNUSED)
ONE_TEXT = "on a task with one answer the two texts are the same to the letter"
DECODING = (
    *("method", "temperature", "top_p", "top_k", "seed", "new_tokens", "stop", "continuation"),
    *("read", "model_generation_config.do_sample"),
)


def _of_stage(stage: str) -> dict[str, str]:
    keys = TRAINING | WITHOUT_LORA | {"precision": RAN, "max_length": RAN, "evaluate_every": KEPT}
    found = {f"{stage}.request.keys.{key}": why for key, why in keys.items()}
    found |= {f"{stage}.request.{key}": NAMED for key in ("id", "recipe")}
    return found | {f"{stage}.request.{key}": SUMS for key in ("device", "attention", "threads")}


# By cell or kind of cell.
CANNOT: dict[str, dict[str, str]] = {
    "grid": PROTOCOL
    | CELLS
    | {"protocol.batch_size": SUMS}
    | {f"request.{key}": UNUSED for key in ("max_items_per_member", "base")}
    | {f"training.{key}": why for key, why in TRAINING.items()}
    | {"training.choose_on_test": RAN},
    "grid, trained": {"training.training_text": ONE_TEXT},
    "grid, generated": {"protocol.max_items": UNUSED},
    "mmlu": PROTOCOL
    | {"protocol.batch_size": SUMS, "protocol.seed": UNUSED, "request.seed": UNUSED}
    | {"request.shots": RAN, "request.max_items_per_subject": RAN},
    "mmlu, stages": _of_stage("cpt") | _of_stage("sft") | {"sft.data.data.document": UNUSED},
    "prompts": PROTOCOL
    | {"protocol.batch_size": SUMS, "request.run": NAMED, "request.seed": RAN}
    | {f"protocol.generation.{key}": RAN for key in DECODING}
    | {f"request.{key}": RAN for key in ("asking.dtype", "max_items_per_subject")}
    | {"request.asking.shots.number": RAN, "request.asking.shots.examples": UNUSED}
    | {"request.asking.decoding.continuation": UNUSED, "request.read.format": KEPT},
    "prompts, run 2": {f"request.asking.{key}": WORDS for key in ("messages", "text")},
    "prompts, run 6": {f"request.asking.{key}": WORDS for key in ("messages", "text")}
    | {"request.asking.shots.seed": UNUSED},
    "prompts, run 7": {"protocol.generation.model_generation_config": UNUSED}
    | {f"request.asking.{key}": UNUSED for key in ("choices", "shots.seed")},
    "suite": PROTOCOL
    | CELLS
    | {"protocol.dtype": NAMED, "protocol.attention": SUMS, "protocol.seed": UNUSED}
    | {"request.base": NAMED, "request.draws": UNUSED}
    | {"request.max_items_per_member": UNUSED},
}
# No number that was published is measured under one: these are of perplexity and latency alone.
CONDITIONS_OF_OTHERS = (
    *("plan", "aggregation", "difficulty", "way", "batch", "adapters", "devices"),
)


def leaves(document: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(document, dict) and document:
        for key, value in document.items():
            yield from leaves(value, (*path, key))
    else:
        yield path


def changed(document: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """With another value at this place."""
    found = deepcopy(document)
    holder = found
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = other(holder[path[-1]])
    return found


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 2 + 1
    if isinstance(value, list):
        return [*value, *(value[-1:] or ["something"])]
    return {"something": 1} if isinstance(value, dict) else f"other than {value}"


def rows(found: pd.DataFrame) -> set[tuple]:
    return set(found[["what", "published", "ours", "decides"]].itertuples(index=False, name=None))


def because(case: str, path: tuple[str, ...]) -> str | None:
    """Why a key cannot change an output; the name of a task, which stands in some paths, is left out."""
    parts = [part for part in path if part not in ("qqp", "nq_open", "gsm8k")]
    for length in range(len(parts), 0, -1):
        key = ".".join(parts[:length])
        for of in (case, case.partition(",")[0]):
            if why := CANNOT.get(of, {}).get(key):
                return why
    return None


@pytest.mark.parametrize("name", CASES)
def test_a_key_that_can_change_an_output_takes_the_verdict(name):
    case = CASES[name]()
    before = case.differences(case.document)
    assert case.verdict(before) == (AGREES if name in AGREEING else OTHER_PROTOCOL)
    undecided, needless = [], []
    for path in leaves(case.document):
        after = case.differences(changed(case.document, path))
        new = rows(after) ^ rows(before)
        why = because(name, path)
        if new and why and why != NAMED:
            needless.append(".".join(path))
        if not new and not why:
            undecided.append(".".join(path))
        if any(decides == YES for *_, decides in rows(after)):
            assert case.verdict(after) == OTHER_PROTOCOL, path
    assert not undecided, (
        "no fact of protocols.yaml decides about these, and no reason stands above"
    )
    assert not needless, "these have a reason above, and are decided about"


def test_a_condition_is_of_what_nothing_was_published_of():
    assert set(CONDITIONS) == set(CONDITIONS_OF_OTHERS)
    with_scores = {CASES[name]().record.protocol.name for name in CASES}
    assert not with_scores & {"perplexity", "latency"}


def test_each_field_of_the_protocol_block_is_among_the_keys():
    for name in CASES:
        found = {path[1] for path in leaves(CASES[name]().document) if path[0] == "protocol"}
        assert found == set(Protocol.model_fields)
