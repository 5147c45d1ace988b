"""Load the demo's byte-level BPE vocabulary with the conventions of each model in specs.yaml."""

from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, processors
from transformers import PreTrainedTokenizerFast

from workflow_scripts.miniature.catalogue import MODELS, SHIPPED, TOKENIZER


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


def load_tokenizer(spec: Spec, folder: Path = SHIPPED) -> PreTrainedTokenizerFast:
    """Load the vocabulary with the special tokens, start token and chat template of a model's family."""
    core = Tokenizer.from_file(str(folder / TOKENIZER))
    core.add_special_tokens(spec.special_tokens)
    start = spec.start_of_text
    if start not in {None, spec.end_of_text}:
        core.post_processor = processors.TemplateProcessing(
            single=f"{start} $A",
            pair=f"{start} $A {start}:1 $B:1",
            special_tokens=[(start, core.token_to_id(start))],
        )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=spec.start_of_text,
        eos_token=spec.end_of_text,
        pad_token=spec.end_of_text,
        model_max_length=2048,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = spec.chat_template
    return tokenizer
