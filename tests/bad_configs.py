"""Configs that must be refused, and what the sentences about them must say.

`BAD_CONFIGS` are overrides of config/config.yaml, the lines of bad_configs.txt and secret_configs.txt.
"""

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
