"""Describe the leaderboard for its readers: an About and an FAQ tab, with the numbers of this config and this code."""

from collections.abc import Iterator
from typing import Any, get_args

from workflow_scripts.core.confined import MEGABYTES, SECONDS
from workflow_scripts.planning.memory import submitted_mb
from workflow_scripts.render.web.board import TextSection, TextTab
from workflow_scripts.render.words import CLEAR, joined
from workflow_scripts.settings.compute import QUANTIZED, Precision
from workflow_scripts.settings.requests import (
    BYTES_OF_A_PARAMETER,
    LARGEST_REQUEST,
    MOST_PARTS,
    MOST_SMALL_BYTES,
    MOST_SMALL_FILES,
    Request,
)
from workflow_scripts.studies.suite.checks import SUSPICIOUS
from workflow_scripts.studies.suite.table_requests import SuiteAbout

# An icon and a sentence for each model type that a request may have.
MODEL_TYPES = {
    "pretrained": ("●", "Trained from scratch on text."),
    "continuously pretrained": ("◐", "A pretrained model, trained further on more text."),
    "fine-tuned": ("◆", "Trained on examples of tasks."),
    "chat": ("❝", "Trained to follow instructions or to hold a conversation."),
    "merged": ("⊕", "Weights of several models combined."),
    "chunked": ("‖", "Groups of layers that run in parallel, made by a chunk plan."),
}
ICONS = {name: icon for name, (icon, _) in MODEL_TYPES.items()}
_SUBMIT = """\
snakemake submit  # check
snakemake suite   # evaluate
make requests     # show status"""
_AGAIN = """\
name: the model
revision: the whole commit (of a hub model)
precision: the row's
model_type: the row's
weight_type: the row's
protocol: the row's"""


def describe_suite(request: SuiteAbout) -> list[TextTab]:
    return [
        TextTab("about", "About", list(_write_about(request))),
        TextTab("faq", "FAQ", list(_answer_questions(request))),
    ]


def _write_about(request: SuiteAbout) -> Iterator[TextSection]:
    count = len(request.tasks)
    grouped = any(task.metric.endswith("_macro") for task in request.tasks)
    yield TextSection(
        f"Tasks, shots and metrics ({count})",
        [
            "Models are asked with lm-eval's own task definitions. Shots are worked examples in front of each"
            f" item. The average is the mean over all tasks ({count}); a row that lacks a score has none. Items"
            f" are the most that are asked{', of a group from each member' if grouped else ''}."
        ],
        [
            ["Task", "Shots", "Metric", "Items", "In lm-eval"],
            *(
                [
                    *(task.title, str(task.shots), task.shown_as),
                    _format_count(request.max_items[task.task]),
                    f"{task.task}, {task.metric}",
                ]
                for task in request.tasks
            ),
        ],
    )
    yield TextSection(
        "Model types",
        ["As submitted; imported results have none."],
        [["Icon", "Type", "Meaning"], *([v[0], name, v[1]] for name, v in MODEL_TYPES.items())],
    )
    yield TextSection(
        "How to submit a model",
        [
            f"Put one YAML file for each model into {request.requests}, then run the commands below in the"
            " workflow's folder."
        ],
        [["Key", "Meaning"], *_list_request_keys()],
        _SUBMIT,
    )
    reasons = list(_list_refusals(request))
    yield TextSection(
        f"What is refused ({len(reasons)} reasons)",
        [
            "A request is checked by the model's small files, before its weights are downloaded. The reason is"
            " printed and stands in results/tables/suite_requests; other requests go on."
        ],
        [["Reason", "Rule"], *reasons],
    )
    yield TextSection(
        "Flags",
        [
            f"A person sets a flag in {request.flags}, with a reason and a link to its discussion. The row"
            " stays, marked with ⚑; the filter Hide flagged leaves it out."
        ],
    )


def _list_request_keys() -> list[list[str]]:
    meanings = Request.descriptions()
    fields = Request.model_fields.items()
    return [
        [
            f"{name} (required)" if field.is_required() else name,
            meanings[name] + _list_values(field.annotation),
        ]
        for name, field in fields
    ]


def _list_values(annotation: Any) -> str:
    values = [value for value in get_args(annotation) if isinstance(value, str)]
    return f" One of: {', '.join(values)}." if values else ""


def _list_refusals(request: SuiteAbout) -> Iterator[list[str]]:
    fits = joined(
        [f"{_fit_millions(request, one):,} million in {one}" for one in get_args(Precision)]
    )
    yield ["Request", f"Not YAML of at most {LARGEST_REQUEST:,} bytes with the keys above."]
    yield ["Weights", "No safetensors; pickled weights are never loaded."]
    yield ["Licence", f"The model card names none of: {', '.join(request.open_licences)}."]
    yield ["Remote code", "The model needs trust_remote_code."]
    yield [
        "Loading",
        "Configuration, tokenizer or architecture fail in transformers' Auto classes.",
    ]
    yield [
        "Memory",
        f"More than {request.memory_mb:,} MB for a job: more parameters than {fits}; fewer fit where a"
        " model is trained or is a delta.",
    ]
    yield [
        "Size",
        f"More than {MOST_PARTS:,} layers or experts, {BYTES_OF_A_PARAMETER} bytes a parameter, or"
        f" {MOST_SMALL_FILES:,} small files of {MOST_SMALL_BYTES // 10**6:,} MB.",
    ]
    yield ["Time", f"More than {SECONDS} seconds or {MEGABYTES:,} MB to read the small files."]
    yield ["Mismatch", "Weight type, licence or commit differ from the model's repository."]
    yield ["Base", "A delta whose base fails these checks or has another number of parameters."]
    yield ["Duplicate", "Another request has this model, commit, precision and protocol."]
    if not request.on_gpu:
        yield ["Quantised", f"{' and '.join(QUANTIZED)} need a GPU, and this config has none."]


def _fit_millions(request: SuiteAbout, precision: str) -> int:
    """Compute how many million parameters fit a job's memory."""
    libraries = submitted_mb(0, precision, trains=False)
    million = (submitted_mb(10**9, precision, trains=False) - libraries) / 1_000
    return max(0, int((request.memory_mb - libraries) / million))


def _answer_questions(request: SuiteAbout) -> Iterator[TextSection]:
    yield TextSection(
        "Why does a model have several rows?",
        [
            "Precision, commit and protocol are part of a result. The commit is the model's revision on the"
            " hub: short in the table, whole in the row's details and in the download."
        ],
    )
    yield TextSection(
        "What stands behind ±?",
        [
            "One standard error, from the items that were asked. To compare two models use the column Behind"
            " the first of results/tables/suite_leaderboard, which pairs the same items."
        ],
    )
    yield TextSection(
        "What are the rows in italics?",
        [
            "Baselines: the floor (the better of random answers and one fixed answer), random answers, and"
            f" published scores. A score within {CLEAR} standard errors of its floor shows nothing."
        ],
    )
    yield TextSection(
        "What do the notes under a name mean?",
        [
            f"Automatic checks: a score at the floor or above {SUSPICIOUS:.0%}, a missing score, fewer items"
            " than others, or every answer equal to another model's. They are hints, not flags."
        ],
    )
    yield TextSection(
        "My request was refused, or my model has a newer commit. What now?",
        [
            "Correct what the reason names and run snakemake submit again. A repository is read once for each"
            " revision, so write the new commit as revision, in a request of its own; it becomes another row."
        ],
    )
    yield TextSection(
        "How do I reproduce a row?",
        [
            "Open it. How to measure these scores again has the command for each score, with commit, precision,"
            " shots and versions, or says why no command measures the same. With this workflow: in a new run"
            " with the same seed and suite in the config, write the row's values into a request and run"
            " snakemake suite."
        ],
        code=_AGAIN,
    )
    yield TextSection(
        "Are these scores those of the Open LLM Leaderboard?",
        [
            "results/tables/suite_protocol lists what is asked otherwise than there, in how many cells, and"
            " whether that makes a score another number."
        ],
    )


def _format_count(items: int | None) -> str:
    return "all" if items is None else f"{items:,}"
