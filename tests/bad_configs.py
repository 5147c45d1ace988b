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


TOGETHER = [
    BadConfig(
        "a problem in every section",
        {
            "sead": 1,
            "hub": {"path": ""},
            "compute": {"threads": -1, "thread": -1},
            "miniature": None,
            "harmony": {"models": ["miniature/Llama-3N"], "tasks": ["sst2", "sst2", 5]},
            "chunking": {"checkpoints": [{"model": "miniature/Qwen2-1M", "num_chunks": 5}]},
        },
        (
            ("hub.path is ''",),
            ("compute.threads is -1",),
            ("compute.thread is -1",),
            ("miniature is None",),
            ("chunking.checkpoints[0]", "num_layers_per_chunk is missing"),
            ("harmony.models[0] is 'miniature/Llama-3N'",),
            ("harmony.tasks[2] is 5",),
            ("sead is 1",),
        ),
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
    CommandLine("nested number", ("--config", "compute={threads: 4}"), ("compute.threads is '4'",)),
    CommandLine("secret", ("--config", f"hf_token={TOKEN}"), ("hf_token names a secret", REMEDY)),
    CommandLine(
        "bad table",
        ("--configfile", "mine.yaml"),
        ("mine.tsv, line 2: layer is '2'", "Did you mean 'layers'?"),
        {"mine.yaml": "tables: {models: mine.tsv}\n", "mine.tsv": "model\tlayer\na/b\t2\n"},
    ),
    CommandLine(
        "two problems", ("--config", "sead=3", "source=real"), ("sead is 3", "source is 'real'")
    ),
]
