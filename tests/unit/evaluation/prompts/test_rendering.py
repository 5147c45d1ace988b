"""Test the exact text and tokens of prompts."""

import numpy as np
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment
from transformers import LlamaConfig

from tests.unit.evaluation.prompts.conftest import change_run
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.prompts import explain_prompt
from workflow_scripts.evaluation.prompts.questions import Question, read_dev, read_questions
from workflow_scripts.evaluation.prompts.rendering import Renderer
from workflow_scripts.settings.prompts.spec import PromptSpec

QUESTION = Question(
    "anatomy/0", "anatomy", "What's 2 + 2?", ("3", "it's 4", '"5"', "é"), 1, prompt="<vendor>"
)


@pytest.fixture(scope="module")
def dev(world):
    return read_dev(world)


@pytest.fixture(scope="module")
def vendor_question(world):
    return read_questions(world, "vendor")[0][0]


def test_messages_chat_template(renderer, runs, loaded):
    run = runs["run1"]
    prompt = renderer(run).render(QUESTION)
    assert prompt.text.startswith("<|begin_of_text|><|start_header_id|>system<|end_header_id|>")
    assert prompt.text.endswith("<|start_header_id|>assistant<|end_header_id|>\n\n")
    assert "Choices: ['3', '4', '5', '6']\nAnswer: 4\n" in prompt.text  # a hand-written example
    assert prompt.tokens.count(loaded.tokenizer.bos_token_id) == 1
    assert loaded.tokenizer.decode(prompt.tokens) == prompt.text
    for style, choices in {
        "python_list": """['3', "it's 4", '"5"', 'é']""",
        "single_quoted_list": "['3', 'it's 4', ''5'', 'é']",
        "lettered_lines": 'A. 3\nB. it\'s 4\nC. "5"\nD. é',
    }.items():
        prompt = renderer(change_run(run, choices=style)).render(QUESTION)
        assert f"Choices: {choices}<|eot_id|>" in prompt.text


def test_shots_of_subject(renderer, runs, dev):
    text = renderer(change_run(runs["run6"], shots={"number": 2})).render(QUESTION).text
    shots = [shot for shot in dev if f"{shot.text}\nChoices: {list(shot.choices)}\n" in text]
    assert shots == [shot for shot in dev if shot.subject == "anatomy"][:2]


def test_raw_text_start_token(renderer, runs, loaded, vendor_question):
    start = loaded.tokenizer.bos_token_id
    wrapped = renderer(runs["run7_text"]).render(vendor_question)
    raw = renderer(runs["run8"]).render(vendor_question)
    assert (wrapped.tokens.count(start), raw.tokens.count(start)) == (2, 1)
    assert raw.text == vendor_question.prompt and raw.text in wrapped.text


def test_run7_prints_an_array(renderer, runs, loaded):
    """The transformers version of run7 passed a NumPy array to Jinja2, and Llama 3.2's template trims it."""
    trimmed = ImmutableSandboxedEnvironment().from_string("{{ content | trim }}")
    for text in ("plain\n\nThe best answer is ", 'it\'s a "cap"', "back\\slash\r\né 😀 \u2028\x00"):
        printed = trimmed.render(content=np.array([text], dtype=object))
        question = Question("a/0", "a", "Q", ("a", "b"), 0, prompt=text)
        assert renderer(runs["run7"]).render(question).text == loaded.tokenizer.apply_chat_template(
            [{"role": "system", "content": printed}], tokenize=False, add_generation_prompt=True
        )


def test_letter_continuation_tokens(renderer, runs, loaded, vendor_question):
    prompt = renderer(runs["run9"]).render(vendor_question)
    assert loaded.tokenizer.batch_decode(prompt.continuations) == [" A", " B", " C", " D"]
    run = change_run(runs["run9"], text="{{ question }}", decoding={"continuation": "s"})
    with pytest.raises(UserError, match="merges with"):
        renderer(run).render(Question("a/0", "a", "What is the town", ("a", "b"), 0))


def test_long_prompt_left_truncation(runs, loaded):
    whole, cut = (
        Renderer(
            runs["run1"], loaded.tokenizer, LlamaConfig(max_position_embeddings=window), None
        ).render(QUESTION)
        for window in (2048, 60)
    )
    assert cut.truncated and not whole.truncated
    assert cut.tokens == whole.tokens[-50:]  # room for ten new tokens


def test_explain_prompt(world, chat_manifest, tmp_path, runs, renderer):
    asking = PromptSpec.select_fields(runs["run9"]).model_dump(mode="json")
    data, text = [world / "datasets/cais/mmlu/manifest.json"], tmp_path / "text"
    explain_prompt.explain_prompt(chat_manifest, data, text, "run9", "anatomy", 1, asking)
    questions, _ = read_questions(world, "vendor")
    prompt = renderer(runs["run9"]).render([q for q in questions if q.subject == "anatomy"][1])
    content, tokens = text.read_text().split("---- tokens ----\n")
    assert prompt.text in content and "'ĠB'" in content
    assert [int(line.split()[0]) for line in tokens.splitlines()] == prompt.tokens
