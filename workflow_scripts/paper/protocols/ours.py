"""What a run did, read off its own records, in the words of resources/published/protocols.yaml."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workflow_scripts.core.ids import (
    NO_ADAPTERS,
    NORMAL_INIT,
    PUBLISHED_LOSS,
    UNCHANGED,
    USUAL_AGGREGATION,
    CheckpointId,
)
from workflow_scripts.core.records import Record, TrainingFacts
from workflow_scripts.core.training_record import TrainingRecord
from workflow_scripts.grid.splits import HELD_OUT

MOST_TEST_ITEMS = 10_000  # more than this were asked nowhere in the published grid
NOT_RECORDED = "not recorded"
DRAWS = {
    "own": "by the seed, the task's name and the purpose",
    "published": "numpy's permutation under seed 0, anew for each draw",
}
BLANK_LINES = {"installed": 3, "published": 1}  # by mmlu.prompt
ADAPTER_INITS = {None: "the identity", NORMAL_INIT: "normal(0, 0.02) in both projections"}
OWN_LOSS = "over tokens with a label; of hidden states the mean over those behind the chunks"
# What is said here of samples is what training.tokenise makes of them, and of examples what lm-eval does.
EMPTY_ROWS = {"row": "left out", "all": "kept, as blank lines"}
LEFT_OVER = "a shorter sample"
TOO_LONG = "cut at the end"
EXAMPLES_DRAWN = "anew for each item, under seed 1234, items in their order"
START_TOKEN = "where the tokenizer puts one"
BEHIND_HASHES = "with or without a full stop behind it"
COMPARED = "without regard to case, stretches of white space as one blank"
_JSON_ANSWER = '{"Answer": shot.answer} | tojson'
PRINTED_ARRAY = [{"role": "system", "content": "{{ prompts }}", "for_each_shot": False}]


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
        "metric": _task(record)["metric"],
        "number format of the test": record.protocol.dtype,
        "attention": record.protocol.attention,
        "chat template": record.protocol.chat_template,
        "examples in front of a question": record.task.shots,
        "generation": _generation(record),
        "seed": record.protocol.seed,
        "lm-eval": record.task.harness_version,
        "transformers": record.provenance.packages.get("transformers", NOT_RECORDED),
    }
    if n == cap or n > MOST_TEST_ITEMS:  # else all were asked, as everywhere
        found["test items, at most"] = n
    draws = record.request.get("draws", NOT_RECORDED)
    draws = DRAWS.get(draws, draws)
    if n == cap:
        found["draw of test items"] = draws
    training = record.training
    if training is not None:
        keys, ran = training.keys, training.ran or {}
        precision = _precision(keys["precision"], ran, record.cost.device)
        checkpointing = _checkpointing(keys["gradient_checkpointing"], ran)
        found |= _keyed("training", keys | {"gradient_checkpointing": checkpointing})
        found |= {
            "number format of the training": precision,
            "training text": keys.get("training_text", NOT_RECORDED),
            **dict.fromkeys(_training_draws(training), draws),
            "trainer": f"transformers {found['transformers']}",
        }
        same = training.held_out_split == record.task.split
        found["split to choose the epoch on"] = (
            "the test's own" if same else training.held_out_split
        )
    return cell, found


def _training_draws(training: TrainingFacts) -> Iterator[str]:
    """Name the draws that were made; where all items were taken there was none."""
    items = training.samples + sum(bad["samples"] for bad in training.bad_samples.values())
    if items >= (training.keys["max_training_items"] or math.inf):
        yield "draw of training items"
    if training.held_out_split == HELD_OUT:
        yield "draw of held-out items"
    if training.held_out_samples == training.keys["max_validation_items"]:
        yield "draw of items to choose on"


def mmlu_cell(
    record: Record, trainings: Mapping[str, TrainingRecord]
) -> tuple[Cell, dict[str, Any]]:
    cell = Cell("mmlu", record.model.id, None, record.protocol.name)
    prompt = record.request.get("prompt", NOT_RECORDED)
    found: dict[str, Any] = {
        "number format of the test": record.protocol.dtype,
        "examples in front of a question": record.task.shots,
        "blank lines between instruction and examples": BLANK_LINES.get(prompt, prompt),
        "questions of a subject, at most": record.protocol.max_items or "all",
        "chat template": record.protocol.chat_template,
        "attention": record.protocol.attention,
        "generation": _generation(record),
        "lighteval": record.task.harness_version,
    }
    checkpoint = CheckpointId.parse(record.model.id)
    if checkpoint.plan not in (None, UNCHANGED):
        found["aggregation of the chunks"] = checkpoint.aggregation or USUAL_AGGREGATION
        found["adapters"] = checkpoint.adapters or "as wide as the model"
        if checkpoint.adapters != NO_ADAPTERS:
            found["start of the adapters"] = ADAPTER_INITS[checkpoint.adapter_init]
        found["distillation"] = checkpoint.distillation
        if checkpoint.distillation and PUBLISHED_LOSS not in checkpoint.distillation:
            found["losses of distillation"] = OWN_LOSS
    while checkpoint.stages:
        found |= _stage(checkpoint.stages[-1], trainings[str(checkpoint)])
        checkpoint = checkpoint.before
    return cell, found


def _stage(stage: str, training: TrainingRecord) -> dict[str, Any]:
    """What a stage of a chunked model trained, on what, and how."""
    request, data = training.request, training.data["data"]
    keys = request["keys"] | {"validation": request["validation"]} | data
    precision, attention = (training.report[name] for name in ("precision", "attention"))
    found = keys | {"precision": precision, "attention": attention, "seed": request["seed"]}
    if data["data"] == "text":
        found |= {"empty rows": EMPTY_ROWS.get(data["document"]), "what fills no sample": LEFT_OVER}
    else:
        found["conversations that are too long"] = TOO_LONG
    return _keyed(stage, found)


def prompt_cell(record: Record, run: str) -> tuple[Cell, dict[str, Any]]:
    """`run` is what the published runs call it."""
    asking, reading = record.request["asking"], record.request["read"]["answers"]
    vendor = asking["questions"] == "vendor" and asking["text"] is None
    printed = vendor and asking["messages"] == PRINTED_ARRAY
    of_the_model = record.protocol.generation["model_generation_config"]
    first = asking["first"]
    return Cell("prompts", record.model.id, f"run {run}", record.protocol.name), {
        "number format": record.protocol.dtype,
        "attention": record.protocol.attention,
        "chat template": record.protocol.chat_template,
        "wording of the prompts": (
            "the vendor's, printed as an array" if printed else "words of our own"
        ),
        "date that the chat template states": asking["date"],
        "questions from": asking["questions"],
        "questions": "all" if first is None else f"the first {first}",
        "questions of a subject, at most": record.protocol.max_items or "all",
        "choices in the prompt": asking["choices"],
        "examples in front of a question": record.task.shots,
        "which examples": _examples(asking["shots"]),
        "choices in the examples": asking["choices"],  # one key for both
        "answers in the examples": _describe_answers(asking["messages"]),
        **_keyed("decoding", {k: v for k, v in asking["decoding"].items() if k != "seed"}),
        **_keyed("decoding that the model's own config says", of_the_model),
        "reading": [f"{link['parser']}: {link['right']}" for link in reading],
        "comparison of texts": COMPARED,
        "seed": f"{record.protocol.seed}, of decoding {asking['decoding']['seed']}",
    }


def _examples(shots: Mapping[str, Any]) -> str:
    return {
        "hand_made": "made by hand",
        "fixed_dev": f"drawn from dev under seed {shots['seed']}, in dataset order",
        "subject_dev": "the first of the subject's in dev, in dataset order",
        "vendor": "the vendor's",
    }.get(shots["source"], shots["source"])


def _describe_answers(messages: list[Mapping[str, Any]] | None) -> str:
    """Describe how a template writes the examples' answers."""
    templates = [message["content"] for message in messages or ()]
    return "JSON of a text" if any(_JSON_ANSWER in text for text in templates) else "in words"


def suite_cell(record: Record) -> tuple[Cell, dict[str, Any]]:
    cell = Cell("suite", record.model.id, record.task.name, record.protocol.name)
    return cell, {
        "metric": _task(record)["metric"],
        "items of a task, at most": record.protocol.max_items or "all",
        "chat template": record.protocol.chat_template,
        "start token in front of a prompt": START_TOKEN,
        "examples in front of an item": record.task.shots,
        "draw of the examples": EXAMPLES_DRAWN,
        "generation": _generation(record),
        "number behind ####": BEHIND_HASHES,
        "calculator": False,
        "training on the task": record.training and f"method {record.training.keys['method']}",
        "sequences at once": record.protocol.batch_size,
        "lm-eval": record.task.harness_version,
    }


def _generation(record: Record) -> list[str]:
    return [f"{key}: {value!r}" for key, value in sorted(record.protocol.generation.items())]


def _task(record: Record) -> Mapping[str, Any]:
    """The one task that a cell was asked."""
    (task,) = record.request["tasks"].values()
    return task


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
