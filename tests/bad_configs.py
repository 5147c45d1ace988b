"""Load the configs that must be refused, with the expected texts of their error messages.

`BAD_CONFIGS` are overrides of config/config.yaml: the lines of bad_configs.txt and secret_configs.txt.
"""

from typing import Any, NamedTuple

import yaml

from tests.tables import load_table

TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz"
REMEDY = "the variable HF_TOKEN"
# Prefixes of lines: @ for keys of a chunked checkpoint, % for keys of a recipe.
_WITHIN = {
    "@": "chunking: {{checkpoints: [{{model: miniature/Qwen2-1M-Instruct, {}}}]}}",
    "%": "training: {{recipes: {{miniature-cpt: {{{}}}}}}}",
}


class BadConfig(NamedTuple):
    """An override as a user writes it, the texts that its error message must have, and the text that it must hide."""

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
