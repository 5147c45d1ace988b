"""What a run did, read off its own records, in the words of resources/published/protocols.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workflow_scripts.core.ids import UNCHANGED, USUAL_AGGREGATION, CheckpointId
from workflow_scripts.core.records import Record
from workflow_scripts.core.training_record import TrainingRecord

MOST_TEST_ITEMS = 10_000  # more than this were asked nowhere in the published grid
NOT_RECORDED = "not recorded"
DRAWS = {
    "own": "by the task's name and the seed",
    "published": "one permutation under the run's seed, after the training items'",
}


@dataclass(frozen=True)
class Cell:
    """A score, or all those of one measurement; `item` is its task or run, None for all subjects."""

    study: str
    of: str
    item: str | None
    protocol: str


def grid_cell(record: Record) -> tuple[Cell, dict[str, Any]]:
    cell = Cell("harmony", record.model.id, record.task.name, record.protocol.name)
    cap, n = record.protocol.max_items, record.items.n
    found: dict[str, Any] = {
        "number format of the test": record.protocol.dtype,
        "attention": record.protocol.attention,
        "chat template": record.protocol.chat_template,
        "examples in front of a question": record.task.shots,
        "seed": record.protocol.seed,
        "lm-eval": record.task.harness_version,
        "transformers": record.provenance.packages.get("transformers", NOT_RECORDED),
    }
    if n == cap or n > MOST_TEST_ITEMS:  # else all were asked, as everywhere
        found["test items, at most"] = n
    if n == cap:
        found["draw of test items"] = DRAWS[record.request["test_draw"]]
    training = record.training
    if training is not None:
        keys, ran = training.keys, training.ran or {}
        precision = _precision(keys["precision"], ran, record.cost.device)
        checkpointing = _checkpointing(keys["gradient_checkpointing"], ran)
        found |= _keyed("training", keys | {"gradient_checkpointing": checkpointing})
        found |= {
            "number format of the training": precision,
            "training text": keys.get("training_text", NOT_RECORDED),
            "trainer": f"transformers {found['transformers']}",
        }
        same = training.held_out_split == record.task.split
        found["split to choose the epoch on"] = (
            "the test's own" if same else training.held_out_split
        )
    return cell, found


def mmlu_cell(
    record: Record, trainings: Mapping[str, TrainingRecord]
) -> tuple[Cell, dict[str, Any]]:
    cell = Cell("mmlu", record.model.id, None, record.protocol.name)
    found: dict[str, Any] = {
        "number format of the test": record.protocol.dtype,
        "examples in front of a question": record.task.shots,
        "questions of a subject, at most": record.protocol.max_items or "all",
        "lighteval": record.task.harness_version,
    }
    checkpoint = CheckpointId.parse(record.model.id)
    if checkpoint.plan not in (None, UNCHANGED):
        found["aggregation of the chunks"] = checkpoint.aggregation or USUAL_AGGREGATION
        found["adapters"] = checkpoint.adapters or "as wide as the model"
    while checkpoint.stages:
        stage, training = checkpoint.stages[-1], trainings.get(str(checkpoint))
        if training is not None:
            request, data = training.request, training.data["data"]
            keys = request["keys"] | {"validation": request["validation"]} | data
            found |= _keyed(stage, keys | {"precision": training.report["precision"]})
        checkpoint = checkpoint.before
    return cell, found


def prompt_cell(record: Record, run: str) -> tuple[Cell, dict[str, Any]]:
    """`run` is what the published runs call it."""
    asking = record.request["asking"]
    vendor = asking["questions"] == "vendor"
    return Cell("prompts", record.model.id, f"run {run}", record.protocol.name), {
        "number format": record.protocol.dtype,
        "wording of the prompts": "the vendor's" if vendor else "words of our own",
        "examples in front of a question": record.task.shots,
        "method of decoding": asking["decoding"]["method"],
        "temperature": asking["decoding"]["temperature"],
        "new tokens": asking["decoding"]["new_tokens"],
        "seed": asking["decoding"]["seed"],
    }


def _keyed(what: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{what}: {key}": value for key, value in keys.items()}


def _precision(request: str, ran: Mapping[str, Any], device: str) -> str:
    if request != "auto":
        return request
    return ran.get("precision") or ("float32" if device == "cpu" else "bfloat16")


def _checkpointing(request: str, ran: Mapping[str, Any]) -> str:
    if request != "auto":
        return request
    return "yes" if ran.get("gradient_checkpointing") else "no"
