"""Test the demo tokenizers: one vocabulary, three families."""

import json

import pytest

from workflow_scripts.miniature.catalogue import SHIPPED
from workflow_scripts.miniature.tokenizer import SPECS, load_tokenizer

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is 3 + 4?"},
    {"role": "assistant", "content": "It is 7."},
]
EXPECTED = {
    "Qwen2-1M": "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is 3 + 4?<|im_end|>\n"
    "<|im_start|>assistant\nIt is 7.<|im_end|>\n",
    "Llama-1.4M": "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nWhat is 3 + 4?<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\nIt is 7.<|eot_id|>",
}


@pytest.mark.parametrize("name", [*EXPECTED, "Pythia-1M"])
def test_tokenizer_round_trip(name):
    tokenizer = load_tokenizer(SPECS[name])
    text = "Ana has  12 pears.\n\n é – 漢 \t🙂 <<3+4=7>>7\n"
    plain = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(plain) == text
    assert tokenizer(text)["input_ids"] == [tokenizer.bos_token_id] * (name == "Llama-1.4M") + plain
    for token in SPECS[name].special_tokens:
        assert len(tokenizer(token, add_special_tokens=False)["input_ids"]) == 1
    config = json.loads((SHIPPED / name / "config.json").read_text())
    assert len(tokenizer) <= config["vocab_size"]


@pytest.mark.parametrize("name", EXPECTED)
def test_chat_template_marks_answers(name):
    tokenizer = load_tokenizer(SPECS[name])
    assert tokenizer.apply_chat_template(CHAT, tokenize=False) == EXPECTED[name]
    options = {"return_dict": True, "return_assistant_tokens_mask": True}
    encoded = tokenizer.apply_chat_template(CHAT, **options)
    tokens = zip(encoded["input_ids"], encoded["assistant_masks"], strict=True)
    answer = tokenizer.decode([token for token, is_answer in tokens if is_answer])
    assert answer == f"It is 7.{SPECS[name].end_of_turn}"
    prompt = tokenizer.apply_chat_template(CHAT[:2], tokenize=False, add_generation_prompt=True)
    assert prompt == EXPECTED[name].split("It is 7.")[0]
