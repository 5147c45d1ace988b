"""The exact text and tokens that a run sends."""

import numpy as np
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tests.unit.evaluation.prompts.conftest import changed
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.prompts.explain_prompt import explain_prompt, get_question
from workflow_scripts.evaluation.prompts.questions import (
    Question,
    chosen,
    read_dev,
    read_questions,
)
from workflow_scripts.evaluation.prompts.rendering import Renderer
from workflow_scripts.evaluation.prompts.requests import ExplainRequest
from workflow_scripts.settings.prompts.spec import Asking

QUESTION = Question(
    "anatomy/0", "anatomy", "What's 2 + 2?", ("3", "it's 4", '"5"', "é"), 1, prompt="<vendor>"
)
WINDOW = 2048


@pytest.fixture(scope="module")
def dev(world):
    return read_dev(world)


@pytest.fixture
def renderer(loaded, dev):
    def make(run, window=WINDOW):
        return Renderer(run, loaded.tokenizer, dev, window)

    return make


def test_a_message_is_the_chat_template_s_and_choices_are_a_python_list(renderer, runs, loaded):
    prompt = renderer(runs["run1"]).prompt(QUESTION)
    assert prompt.text.startswith("<|begin_of_text|><|start_header_id|>system<|end_header_id|>")
    assert prompt.text.endswith("<|start_header_id|>assistant<|end_header_id|>\n\n")
    assert """What's 2 + 2?\nChoices: ['3', "it's 4", '"5"', 'é']<|eot_id|>""" in prompt.text
    assert "Choices: ['3', '4', '5', '6']\nAnswer: 4\n" in prompt.text, "a hand-made shot"
    assert prompt.tokens.count(loaded.tokenizer.bos_token_id) == 1
    assert loaded.tokenizer.decode(prompt.tokens) == prompt.text
    styles = {
        "single_quoted_list": "['3', 'it's 4', ''5'', 'é']",
        "lettered_lines": 'A. 3\nB. it\'s 4\nC. "5"\nD. é',
    }
    for style, text in styles.items():
        prompt = renderer(changed(runs["run1"], choices=style)).prompt(QUESTION)
        assert text + "<|eot_id|>" in prompt.text


def test_shots_are_fixed_by_their_seed_or_those_of_the_subject(renderer, runs, dev):
    def shots(run, question=QUESTION):
        text = renderer(run).prompt(question).text
        shown = {one: text.find(f"{one.text}\nChoices: {list(one.choices)}\n") for one in dev}
        return sorted((one for one in dev if shown[one] >= 0), key=shown.get)

    fixed = shots(runs["run2"])
    assert len(fixed) == 5
    other = Question("virology/0", "virology", "What?", ("a", "b", "c", "d"), 0)
    assert shots(runs["run2"], other) == fixed
    assert shots(changed(runs["run2"], shots={"seed": 1})) != fixed
    own = [one for one in dev if one.subject == "anatomy"]
    assert shots(runs["run6"]) == own
    assert shots(changed(runs["run6"], shots={"number": 2})) == own[:2]


def test_examples_can_be_turns_of_the_conversation(renderer, runs):
    run = changed(
        runs["run6"],
        shots={"number": 2},
        messages=[
            {"role": "system", "content": "S"},
            {"role": "user", "content": "Q{{ shot.question }}", "for_each_shot": True},
            {"role": "assistant", "content": "A{{ shot.letter }}", "for_each_shot": True},
            {"role": "user", "content": "{{ question }}"},
        ],
    )
    text = renderer(run).prompt(QUESTION).text
    roles = [part.split("<|")[0] for part in text.split("<|start_header_id|>")[1:]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant"]


def test_raw_text_has_one_start_token_and_the_vendor_s_message_two(renderer, runs, world, loaded):
    question = read_questions(world, "vendor")[0][0]
    start = loaded.tokenizer.bos_token_id
    wrapped = renderer(runs["run7_text"]).prompt(question)
    raw = renderer(runs["run8"]).prompt(question)
    assert (wrapped.tokens.count(start), raw.tokens.count(start)) == (2, 1)
    assert raw.text == question.prompt and raw.text in wrapped.text
    shots = {"source": "none", "number": 0}
    run = changed(runs["run8"], text="{{ question }}", questions="mmlu", shots=shots)
    tokens = renderer(run).prompt(QUESTION).tokens
    assert tokens[0] == start and loaded.tokenizer.decode(tokens[1:]) == QUESTION.text


def test_run_seven_sends_what_a_chat_template_made_of_the_dataset_s_array(renderer, runs, loaded):
    """The transformers of that time gave Jinja2 the array itself, and Llama 3.2's template trims it."""
    trimmed = ImmutableSandboxedEnvironment().from_string("{{ content | trim }}")
    for text in ("plain\n\nThe best answer is ", 'it\'s a "cap"', "back\\slash\r\né 😀 \u2028\x00"):
        printed = trimmed.render(content=np.array([text], dtype=object))
        question = Question("a/0", "a", "Q", ("a", "b"), 0, prompt=text)
        assert renderer(runs["run7"]).prompt(question).text == loaded.tokenizer.apply_chat_template(
            [{"role": "system", "content": printed}], tokenize=False, add_generation_prompt=True
        )


def test_letters_are_scored_as_the_tokens_they_are_behind_the_prompt(renderer, runs, world, loaded):
    question = read_questions(world, "vendor")[0][0]
    prompt = renderer(runs["run9"]).prompt(question)
    letters = [loaded.tokenizer.decode(one) for one in prompt.continuations]
    assert letters == [" A", " B", " C", " D"]
    run = changed(runs["run9"], text="{{ question }}", decoding={"continuation": "s"})
    with pytest.raises(UserError, match="melts into"):
        renderer(run).prompt(Question("a/0", "a", "What is the town", ("a", "b"), 0))


def test_a_prompt_that_is_too_long_is_cut_on_the_left_and_says_so(renderer, runs):
    whole = renderer(runs["run1"]).prompt(QUESTION)
    assert not whole.truncated
    cut = renderer(runs["run1"], window=60).prompt(QUESTION)
    assert cut.truncated
    assert cut.tokens == whole.tokens[-50:], "room for ten new tokens is left"
    with pytest.raises(UserError, match="new_tokens is 10; expected less"):
        renderer(runs["run1"], window=10).prompt(QUESTION)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% if not date_string is defined %}today{% endif %}{{ date_string }}", "1 May 2025"),
        ("{{ raise_exception('System role not supported') }}", None),
        (None, None),
    ],
    ids=["date", "refuses", "none"],
)
def test_a_chat_template_gets_the_run_s_date_or_is_a_sentence(
    renderer, runs, loaded, monkeypatch, template, text
):
    monkeypatch.setattr(loaded.tokenizer, "chat_template", template)
    run = changed(runs["run1"], date="1 May 2025")
    if text:
        assert renderer(run).prompt(QUESTION).text == text
    else:
        with pytest.raises(UserError, match="the template"):
            renderer(run).prompt(QUESTION)


def test_a_question_has_the_same_id_in_both_datasets(world):
    ours, _ = read_questions(world, "mmlu")
    theirs, _ = read_questions(world, "vendor")
    assert len({question.id for question in ours}) == len(ours)
    assert {q.id: (q.choices, q.gold) for q in ours} == {q.id: (q.choices, q.gold) for q in theirs}
    few = chosen(ours, 10, 2)
    assert [q for q in few if q.subject == ours[0].subject] == ours[:2]


def test_explanation_holds_text_and_tokens(world, chat_manifest, tmp_path, runs, renderer):
    asking = Asking.select_fields(runs["run9"])
    request = ExplainRequest(run="run9", asking=asking, subject="anatomy", number=1)
    explain_prompt(chat_manifest, world, tmp_path / "explained.txt", request)
    written = (tmp_path / "explained.txt").read_text()
    questions, _ = read_questions(world, "vendor")
    prompt = renderer(runs["run9"]).prompt(get_question(questions, "anatomy", 1))
    assert prompt.text in written
    tokens = written.split("---- tokens")[1].splitlines()[1:]
    assert [int(line.split()[0]) for line in tokens if line.strip()] == prompt.tokens
    assert "' B'" in written.split("---- text")[0]
    with pytest.raises(UserError, match="Did you mean 'anatomy'"):
        get_question(questions, "anatomi", 0)
