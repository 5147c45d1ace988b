"""Prompt runs with a real chat template: what is sent, and that what comes back can be read."""

import pytest

from tests.unit.evaluation.prompts.conftest import changed
from tests.unit.settings.merged import ROOT
from workflow_scripts.evaluation.prompts.ask_prompt_run import answer, build_renderer
from workflow_scripts.evaluation.prompts.questions import chosen, read_dev, read_questions
from workflow_scripts.evaluation.prompts.score_prompt_run import item_of
from workflow_scripts.settings.prompts.files import find_runs, read_runs

pytestmark = pytest.mark.real

QUESTIONS = 8


@pytest.fixture(scope="module")
def runs():
    files = find_runs("config/first/prompts", ROOT)
    return read_runs(files, ["two_examples", "own_subject", "likeliest_letter"])


@pytest.fixture(scope="module")
def questions(hub):
    return chosen(read_questions(hub, "mmlu")[0], None, 1)[:QUESTIONS]


@pytest.fixture(scope="module")
def prompts_of(hub, loaded):
    def rendered(run, questions):
        renderer = build_renderer(run, loaded.tokenizer, loaded.model.config, hub)
        return [renderer.prompt(question) for question in questions]

    return rendered


@pytest.mark.parametrize("name", ["two_examples", "own_subject"])
def test_messages_become_what_the_template_makes_of_them(loaded, runs, questions, prompts_of, name):
    for question, prompt in zip(questions[:4], prompts_of(runs[name], questions[:4]), strict=True):
        start, end = "<|im_start|>system\n", "<|im_end|>\n"
        middle = f"{end}<|im_start|>user\n"
        assert prompt.text.startswith(start)
        system, _, user = prompt.text.removeprefix(start).partition(middle)
        assert question.text in user and all(choice in user for choice in question.choices)
        asked, _, rest = user.partition(end)
        assert rest == "<|im_start|>assistant\n"
        turns = [{"role": "system", "content": system}, {"role": "user", "content": asked}]
        expected = loaded.tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, return_dict=True
        )["input_ids"]
        assert prompt.tokens == expected and not prompt.truncated


def test_worked_examples_are_of_the_question_s_own_subject(hub, runs, questions, prompts_of):
    dev = read_dev(hub)
    for question, prompt in zip(questions, prompts_of(runs["own_subject"], questions), strict=True):
        own = [shot.text for shot in dev if shot.subject == question.subject]
        assert len(own) == 5 and all(text.strip() in prompt.text for text in own)


def test_a_letter_is_generated_after_examples_that_end_in_one(loaded, runs, questions, prompts_of):
    """Told of a form in a chat, so small a model keeps to none; shown it as running text, it does."""
    run = changed(
        runs["likeliest_letter"],
        decoding={"method": "greedy", "new_tokens": 2},
        read={"format": "letter", "answers": [{"parser": "leading_letter", "right": "letter"}]},
    )
    outputs, _ = answer(loaded, run, questions, prompts_of(run, questions), 0)
    items = [item_of(output, run.read) for output in outputs]
    print([output.text for output in outputs])
    assert sum(item.prediction in tuple("ABCD") for item in items) >= 0.9 * QUESTIONS
    alone, _ = answer(loaded, run, questions[3:4], prompts_of(run, questions[3:4]), 0)
    assert alone[0].text == outputs[3].text


def test_the_likeliest_letter_is_each_of_the_four_for_some_question(
    loaded, runs, questions, prompts_of
):
    run = runs["likeliest_letter"]
    outputs, _ = answer(loaded, run, questions, prompts_of(run, questions), 0)
    items = [item_of(output, run.read) for output in outputs]
    assert all(item.prediction in "ABCD" for item in items)
    assert len({item.prediction for item in items}) > 1
