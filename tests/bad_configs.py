"""Configs that must be refused, and what the sentences about them must say.

`BAD_CONFIGS` are overrides of config/config.yaml, checked in the process, the lines of bad_configs.txt and
secret_configs.txt; `COMMAND_LINES` are run through Snakemake itself.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from tests.tables import load_table

TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz"
REMEDY = "the variable HF_TOKEN"
# What lines may begin with: one checkpoint to be chunked, and one of the named recipes.
_WITHIN = {
    "@": "chunking: {{checkpoints: [{{model: miniature/Qwen2-1M-Instruct, {}}}]}}",
    "%": "training: {{recipes: {{miniature-cpt: {{{}}}}}}}",
}


class BadConfig(NamedTuple):
    """The override as a user writes it, and what its one sentence must hold and must not show."""

    name: str
    override: dict[Any, Any]
    texts: list[str]
    hidden: str


class CommandLine(NamedTuple):
    """Arguments and files for a run of Snakemake that must fail, and texts it must print."""

    name: str
    arguments: tuple[str, ...]
    printed: tuple[str, ...]
    files: Mapping[str, str] = MappingProxyType({})
    hidden: str = TOKEN


def read_case(text: str, texts: list[str], hidden: str = TOKEN) -> BadConfig:
    text = text.replace("<token>", TOKEN)
    if template := _WITHIN.get(text[0]):
        text = template.format(text[2:])
    return BadConfig(text, yaml.safe_load(f"{{{text}}}"), texts, hidden)


BAD_CONFIGS = [
    *(read_case(text, texts) for text, *texts in load_table(__file__, "bad_configs.txt")),
    *(
        read_case(text, [*texts, REMEDY], hidden.replace("<token>", TOKEN))
        for hidden, text, *texts in load_table(__file__, "secret_configs.txt")
    ),
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
        "secret", ("--config", f"hf_token={TOKEN}"), ("hf_token names or holds a secret", REMEDY)
    ),
    CommandLine(
        "two problems", ("--config", "sead=3", "source=real"), ("sead is 3", "source is 'real'")
    ),
]
