"""Read the conventions of the demo's models from specs.yaml."""

from dataclasses import dataclass

from workflow_scripts.miniature.catalogue import MODELS


@dataclass(frozen=True)
class Spec:
    """The tokenizer conventions of a model's family, and the base model of an instruct model."""

    special_tokens: list[str]
    end_of_text: str
    start_of_text: str | None
    end_of_turn: str | None
    chat_template: str | None
    base: str | None = None


SPECS = {name: Spec(**spec) for name, spec in MODELS.items()}
