"""Configs that must be refused, and what the sentences about them must say.

`BAD_CONFIGS` are overrides of config/config.yaml, checked in the process, most of them lines of
bad_configs.txt; `COMMAND_LINES` are run through Snakemake itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.tables import table_beside

TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz"
REMEDY = "the variable HF_TOKEN"
# What lines below may begin with: one checkpoint to be chunked, and one of the named recipes.
_WITHIN = {
    "@": "chunking: {{checkpoints: [{{model: miniature/Qwen2-1M-Instruct, {}}}]}}",
    "%": "training: {{recipes: {{miniature-cpt: {{{}}}}}}}",
}


@dataclass(frozen=True)
class BadConfig:
    """One override, and for each problem expected the texts its sentence must hold."""

    name: str
    override: Mapping[Any, Any]
    problems: tuple[tuple[str, ...], ...]
    hidden: str = TOKEN


@dataclass(frozen=True)
class CommandLine:
    """Arguments and files for a run of Snakemake that must fail, and texts it must print."""

    name: str
    arguments: tuple[str, ...]
    printed: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    hidden: str = TOKEN


def each_alone(table: list[list[str]], *always: str, hidden: str = TOKEN) -> list[BadConfig]:
    """A row each: the override as a user writes it, and what its one sentence must hold."""
    found = []
    for written, *texts in table:
        if within := _WITHIN.get(written[0]):
            written = within.format(written[2:])
        override = yaml.safe_load(f"{{{written}}}")
        found.append(BadConfig(written, override, ((*texts, *always),), hidden))
    return found


def chunked(model: str, chunks: int, layers: int) -> dict[str, Any]:
    return {"model": model, "num_chunks": chunks, "num_layers_per_chunk": layers}


TOGETHER = [
    BadConfig(
        "miniature models with the real source",
        {
            "source": "huggingface",
            "chunking": {"checkpoints": [chunked("Qwen/Qwen2.5-0.5B-Instruct", 2, 12)]},
        },
        (
            *((f"harmony.models[{at}] is 'miniature/", "source 'huggingface'") for at in range(6)),
            ("prompts.models[0] is 'miniature/Llama-1.4M-Instruct'", "source 'huggingface'"),
        ),
    ),
    BadConfig(
        "a problem in every section",
        {
            "sead": 1,
            "hub": {"path": ""},
            "tables": {"tasks": "config/absent.tsv"},
            "compute": {"threads": 0, "device": "tpu"},
            "miniature": None,
            "harmony": {"models": ["miniature/Llama-3N"], "shots": True},
            "chunking": {"checkpoints": [chunked("miniature/Qwen2-1M-Instruct", 5, 5)]},
            "api_key": TOKEN,
        },
        (
            ("api_key names a secret",),
            ("tables.tasks is 'config/absent.tsv'",),
            ("hub.path is ''",),
            ("compute.device is 'tpu'",),
            ("compute.threads is 0",),
            ("miniature is null",),
            ("chunking.checkpoints[0]", "5 chunks of 5"),
            ("harmony.models[0] is 'miniature/Llama-3N'",),
            ("harmony.shots is true",),
            ("sead is 1",),
        ),
    ),
    BadConfig(
        "several in one list",
        {"harmony": {"tasks": ["sts2", "sst2", "sst2", 5, None]}},
        (
            ("harmony.tasks[2] is 'sst2'", "as harmony.tasks[1] is"),
            ("harmony.tasks[0] is 'sts2'", "'sst2'"),
            ("harmony.tasks[3] is 5",),
            ("harmony.tasks[4] is null",),
        ),
    ),
    BadConfig(
        "a key beside its typo",
        {"compute": {"threads": -1, "thread": -1}},
        (("compute.threads is -1",), ("compute.thread is -1", "'threads'")),
    ),
]


# Whatever holds a token or a password is refused with what to do instead, and not shown.
HELD = [
    [cell.replace("<token>", TOKEN) for cell in line]
    for line in table_beside(__file__, "secret_configs.txt")
]
BAD_CONFIGS = [
    *each_alone(table_beside(__file__, "bad_configs.txt")),
    *(one for hidden, *line in HELD for one in each_alone([line], REMEDY, hidden=hidden)),
    *TOGETHER,
]

COMMAND_LINES = [
    CommandLine(
        "broken YAML",
        ("--configfile", "mine.yaml"),
        ("not valid JSON or YAML",),
        {"mine.yaml": "compute: {threads: 4\n"},
    ),
    CommandLine("missing file", ("--configfile", "absent.yaml"), ("No such file", "'absent.yaml'")),
    CommandLine(
        "nested number", ("--config", "compute={threads: 4}"), ("compute.threads is the text '4'",)
    ),
    CommandLine("secret", ("--config", f"hf_token={TOKEN}"), ("hf_token names a secret", REMEDY)),
    CommandLine(
        "bad table",
        ("--configfile", "mine.yaml"),
        ("mine.tsv, line 1: the column 'layer' is unknown", "the column layers is missing."),
        {"mine.yaml": "tables: {models: mine.tsv}\n", "mine.tsv": "model\tlayer\n"},
    ),
    CommandLine(
        "no such task to explain",
        ("explain_training", "--config", "explain=ss2/3"),
        ("explain is 'ss2/3'", "did you mean 'sst2'?"),
    ),
    CommandLine(
        "a task that cannot be trained on",
        ("explain_training", "--config", "explain=mmlu/3"),
        ("explain is 'mmlu/3', a task without a training split",),
    ),
    CommandLine(
        "no number of an item",
        ("explain_training", "--config", "explain=sst2/first"),
        ("explain is 'sst2/first'", "as in sst2/3"),
    ),
    CommandLine(
        "two problems", ("--config", "sead=3", "source=real"), ("sead is 3", "source is 'real'")
    ),
]
