"""The exact text and tokens that a run sends."""

import numpy as np
import pandas as pd
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tests.unit.evaluation.prompts.conftest import changed
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.prompts.explain import explain_prompt, question_of
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
    assert "{%" not in prompt.text
    start = loaded.tokenizer.bos_token_id
    assert prompt.tokens[0] == start
    assert prompt.tokens.count(start) == 1
    assert loaded.tokenizer.decode(prompt.tokens) == prompt.text


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("single_quoted_list", "['3', 'it's 4', ''5'', 'é']"),
        ("lettered_lines", 'A. 3\nB. it\'s 4\nC. "5"\nD. é'),
    ],
)
def test_choices_are_shown_as_the_run_says(renderer, runs, style, text):
    run = changed(runs["run1"], choices=style)
    assert text + "<|eot_id|>" in renderer(run).prompt(QUESTION).text


def shown(one: Question) -> str:
    return f"{one.text}\nChoices: {list(one.choices)}\n"


def test_fixed_shots_are_the_same_for_all_and_drawn_by_their_seed(renderer, runs, dev):
    def shots(run, question=QUESTION):
        text = renderer(run).prompt(question).text
        return [one.text for one in dev if shown(one) in text]

    fixed = shots(runs["run2"])
    assert len(fixed) == 5
    other = Question("virology/0", "virology", "What?", ("a", "b", "c", "d"), 0)
    assert shots(runs["run2"], other) == fixed
    assert shots(changed(runs["run2"], shots={"seed": 1})) != fixed


def test_a_subject_s_shots_are_its_own_in_the_order_asked_for(renderer, runs, dev):
    mine = [one for one in dev if one.subject == "anatomy"]

    def order(**shots):
        text = renderer(changed(runs["run6"], shots=shots)).prompt(QUESTION).text
        assert not any(shown(one) in text for one in dev if one.subject != "anatomy")
        places = {at: text.find(shown(one)) for at, one in enumerate(mine)}
        return sorted((at for at in places if places[at] >= 0), key=places.get)

    assert order() == [0, 1, 2, 3, 4]
    assert order(number=2) == [0, 1]


def test_a_shot_s_answer_is_json_whatever_it_holds(renderer, runs):
    shot = {"question": "?", "choices": ['it\'s "5" <b>', "b"], "answer": 'it\'s "5" <b>'}
    run = changed(runs["run2"], shots={"source": "hand_made", "number": 1, "examples": [shot]})
    assert '{"Answer": "it\'s \\"5\\" <b>"}' in renderer(run).prompt(QUESTION).text


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


def test_the_vendor_s_prompt_doubles_its_header_tokens_in_a_message_and_not_as_text(
    renderer, runs, world, loaded
):
    question = read_questions(world, "vendor")[0][0]
    start = loaded.tokenizer.bos_token_id
    wrapped = renderer(runs["run7_text"]).prompt(question)
    raw = renderer(runs["run8"]).prompt(question)
    assert wrapped.tokens.count(start) == 2
    assert raw.tokens.count(start) == 1
    assert raw.text == question.prompt
    assert raw.text in wrapped.text


VENDOR_PROMPTS = [
    "plain\n\nThe best answer is ", "it's", 'a "cap"', "it's a \"cap\"", "back\\slash, \\n\ttab\r\n",
    "é ∑ 😀 \u200b\u2028\x85\x00 \xa0", " spaces around ", "word " * 2000, "<|eot_id|>['x']",
]  # fmt: skip


@pytest.mark.parametrize("text", VENDOR_PROMPTS)
def test_run_seven_sends_what_a_chat_template_makes_of_the_dataset_s_array(
    text, renderer, runs, loaded, tmp_path
):
    path = tmp_path / "details.parquet"
    pd.DataFrame({"input_final_prompts": [[text]]}).to_parquet(path)
    array = pd.read_parquet(path).iloc[0]["input_final_prompts"]
    assert isinstance(array, np.ndarray)
    # The transformers of that time gave Jinja2 what it was given, and Llama 3.2's template trims it. Today's
    # sends the name of the type.
    trimmed = ImmutableSandboxedEnvironment().from_string("{{ content | trim }}")
    printed = trimmed.render(content=array)
    assert printed == f"[{text!r}]"
    question = Question("a/0", "a", "Q", ("a", "b"), 0, prompt=text)
    assert renderer(runs["run7"]).prompt(question).text == loaded.tokenizer.apply_chat_template(
        [{"role": "system", "content": printed}], tokenize=False, add_generation_prompt=True
    )


def test_raw_text_gets_the_start_token_it_lacks(renderer, runs, loaded):
    run = changed(
        runs["run8"], text="{{ question }}", questions="mmlu", shots={"source": "none", "number": 0}
    )
    tokens = renderer(run).prompt(QUESTION).tokens
    assert tokens[0] == loaded.tokenizer.bos_token_id
    assert loaded.tokenizer.decode(tokens[1:]) == QUESTION.text


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


def test_a_chat_template_with_a_date_gets_the_run_s_and_not_today_s(
    renderer, runs, loaded, monkeypatch
):
    template = (
        "{%- if not date_string is defined %}{%- set date_string = strftime_now('%d %b %Y') %}"
        "{%- endif %}Today: {{ date_string }}"
    )
    monkeypatch.setattr(loaded.tokenizer, "chat_template", template)
    assert renderer(runs["run1"]).prompt(QUESTION).text == "Today: 26 Jul 2024"
    run = changed(runs["run1"], date="1 May 2025")
    assert renderer(run).prompt(QUESTION).text == "Today: 1 May 2025"


REFUSES = "{{ raise_exception('System role not supported') }}"


@pytest.mark.parametrize("template", [None, REFUSES], ids=["none", "refuses"])
def test_messages_that_the_model_s_template_refuses_are_a_sentence(
    renderer, runs, loaded, template, monkeypatch
):
    monkeypatch.setattr(loaded.tokenizer, "chat_template", template)
    with pytest.raises(UserError, match="the template"):
        renderer(runs["run1"]).prompt(QUESTION)


def test_a_question_has_the_same_id_in_both_datasets(world):
    ours, _ = read_questions(world, "mmlu")
    theirs, _ = read_questions(world, "vendor")
    assert len({question.id for question in ours}) == len(ours)
    assert {q.id: (q.choices, q.gold) for q in ours} == {q.id: (q.choices, q.gold) for q in theirs}
    first = chosen(ours, 10, None)
    assert first == ours[:10]
    few = chosen(ours, 10, 2)
    assert [q for q in few if q.subject == ours[0].subject] == ours[:2]


def test_explanation_holds_text_and_tokens(world, chat_manifest, tmp_path, runs, renderer):
    asking = Asking.part_of(runs["run9"])
    asked = ExplainRequest(run="run9", asking=asking, subject="anatomy", number=1)
    explain_prompt(chat_manifest, world, tmp_path / "explained.txt", asked)
    written = (tmp_path / "explained.txt").read_text()
    questions, _ = read_questions(world, "vendor")
    prompt = renderer(runs["run9"]).prompt(question_of(questions, "anatomy", 1))
    assert prompt.text in written
    tokens = written.split("---- tokens")[1].splitlines()[1:]
    assert [int(line.split()[0]) for line in tokens if line.strip()] == prompt.tokens
    assert "' B'" in written.split("---- text")[0]
    for subject, number, problem in (
        ("anatomi", 0, "Did you mean 'anatomy'"),
        ("anatomy", 10**6, "below that"),
    ):
        with pytest.raises(UserError, match=problem):
            question_of(questions, subject, number)
