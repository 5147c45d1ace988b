"""One vocabulary, three conventions."""

import pytest

from workflow_scripts.miniature.shipped import shipped_tokenizer
from workflow_scripts.miniature.specs import FAMILIES
from workflow_scripts.miniature.tokenizer import EMBEDDING_ROWS

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is 3 + 4?"},
    {"role": "assistant", "content": "It is 7."},
]
QWEN2 = (
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is 3 + 4?<|im_end|>\n"
    "<|im_start|>assistant\nIt is 7.<|im_end|>\n"
)
LLAMA = (
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nWhat is 3 + 4?<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\nIt is 7.<|eot_id|>"
)


@pytest.mark.parametrize("name", FAMILIES)
def test_any_text_comes_back_and_special_tokens_are_single(name):
    family = FAMILIES[name]
    encoder = shipped_tokenizer(family)
    text = "Ana has  12 pears.\n\n é – 漢 \t🙂 <<3+4=7>>7\n"
    with_special = encoder(text)["input_ids"]
    without = encoder(text, add_special_tokens=False)["input_ids"]
    assert encoder.decode(without) == text
    assert with_special == [encoder.bos_token_id] * (name == "llama") + without
    for token in family.special_tokens:
        assert len(encoder(token, add_special_tokens=False)["input_ids"]) == 1
    assert len(encoder) <= EMBEDDING_ROWS


@pytest.mark.parametrize(("name", "expected"), [("qwen2", QWEN2), ("llama", LLAMA)])
def test_chat_template_marks_the_assistants_words(name, expected):
    family = FAMILIES[name]
    encoder = shipped_tokenizer(family)
    assert encoder.apply_chat_template(CHAT, tokenize=False) == expected
    encoded = encoder.apply_chat_template(CHAT, return_dict=True, return_assistant_tokens_mask=True)
    tokens = zip(encoded["input_ids"], encoded["assistant_masks"], strict=True)
    spoken = [token for token, is_spoken in tokens if is_spoken]
    assert encoder.decode(spoken) == f"It is 7.{family.end_of_turn}"
    prompt = encoder.apply_chat_template(CHAT[:2], tokenize=False, add_generation_prompt=True)
    assert prompt == expected.split("It is 7.")[0]
