"""Train the demo's byte-level BPE vocabulary, and load it as the tokenizer of each model spec."""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from workflow_scripts.core.files import open_atomic_path
from workflow_scripts.miniature.catalogue import SHIPPED, TOKENIZER
from workflow_scripts.miniature.specs import Spec

VOCABULARY = 1_516
EMBEDDING_ROWS = 1_536  # vocabulary size plus the special tokens of any family, rounded up

# Letters with the preceding space, single digits, punctuation with the following line breaks.
_PIECES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def train_tokenizer(texts: Iterable[str], path: Path) -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    with open_atomic_path(path) as temporary:
        tokenizer.save(str(temporary))


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
