"""One vocabulary, three conventions."""

import pytest

from workflow_scripts.miniature.catalogue import SHIPPED, TOKENIZER
from workflow_scripts.miniature.families import LLAMA, PYTHIA, QWEN2
from workflow_scripts.miniature.tokenizer import EMBEDDING_ROWS, family_tokenizer

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is 3 + 4?"},
    {"role": "assistant", "content": "It is 7."},
]


@pytest.fixture(scope="module")
def tokenizer():
    return lambda family: family_tokenizer(SHIPPED / TOKENIZER, family)


@pytest.mark.parametrize("family", [QWEN2, LLAMA, PYTHIA])
@pytest.mark.parametrize(
    "text", ["Ana has 12 pears.\n\nQuestion:  why?", " é – 漢 \t🙂", "<<3+4=7>>7\n"]
)
def test_any_text_survives_the_round_trip(tokenizer, family, text):
    encoder = tokenizer(family)
    assert encoder.decode(encoder(text)["input_ids"], skip_special_tokens=True) == text


@pytest.mark.parametrize("family", [QWEN2, LLAMA, PYTHIA])
def test_special_tokens_are_single_and_fit_the_embedding(tokenizer, family):
    encoder = tokenizer(family)
    for token in family.special_tokens:
        assert len(encoder(token, add_special_tokens=False)["input_ids"]) == 1
    assert len(encoder) <= EMBEDDING_ROWS


def test_only_llama_puts_a_start_token_in_front(tokenizer):
    for family, added in ((QWEN2, 0), (LLAMA, 1), (PYTHIA, 0)):
        encoder = tokenizer(family)
        with_special, without = encoder("Ana"), encoder("Ana", add_special_tokens=False)
        assert len(with_special["input_ids"]) - len(without["input_ids"]) == added
    assert tokenizer(LLAMA)("Ana")["input_ids"][0] == tokenizer(LLAMA).bos_token_id


def test_chat_templates(tokenizer):
    assert tokenizer(PYTHIA).chat_template is None
    qwen = tokenizer(QWEN2).apply_chat_template(CHAT, tokenize=False)
    assert qwen == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is 3 + 4?<|im_end|>\n"
        "<|im_start|>assistant\nIt is 7.<|im_end|>\n"
    )
    llama = tokenizer(LLAMA).apply_chat_template(
        CHAT[:2], tokenize=False, add_generation_prompt=True
    )
    assert llama == (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nWhat is 3 + 4?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )


@pytest.mark.parametrize("family", [QWEN2, LLAMA])
def test_the_template_marks_what_the_assistant_says(tokenizer, family):
    encoder = tokenizer(family)
    encoded = encoder.apply_chat_template(CHAT, return_dict=True, return_assistant_tokens_mask=True)
    spoken = [
        i for i, own in zip(encoded["input_ids"], encoded["assistant_masks"], strict=True) if own
    ]
    assert encoder.decode(spoken) == f"It is 7.{family.end_of_turn}"
