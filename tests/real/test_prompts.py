"""Prompt runs with a real chat template: the text sent, and outputs that can be parsed."""

import pytest

from tests.unit.evaluation.prompts.conftest import change_run
from tests.unit.settings.merged import ROOT
from workflow_scripts.evaluation.prompts.ask_prompt_run import build_renderer, run_prompts
from workflow_scripts.evaluation.prompts.questions import read_questions, select_questions
from workflow_scripts.evaluation.prompts.score_prompt_run import judge_output
from workflow_scripts.settings.prompts.files import find_runs, read_runs

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def runs():
    files = find_runs(str(ROOT / "config/first/prompts"), ROOT)
    return read_runs(files, ["own_subject", "likeliest_letter"])


@pytest.fixture(scope="module")
def questions(hub):
    return select_questions(read_questions(hub, "mmlu")[0], None, 1)[:8]


@pytest.fixture(scope="module")
def render(hub, loaded):
    def render_all(run, questions):
        renderer = build_renderer(run, loaded.tokenizer, loaded.model.config, hub)
        return [renderer.render(question) for question in questions]

    return render_all


def test_messages_chat_template(loaded, runs, questions, render):
    run = runs["own_subject"]
    for question, prompt in zip(questions[:4], render(run, questions[:4]), strict=True):
        system, user = prompt.text.split("<|im_end|>\n<|im_start|>user\n")
        user = user.removesuffix("<|im_end|>\n<|im_start|>assistant\n")
        turns = [
            {"role": "system", "content": system.removeprefix("<|im_start|>system\n")},
            {"role": "user", "content": user},
        ]
        expected = loaded.tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, return_dict=True
        )
        assert prompt.tokens == list(expected["input_ids"]) and not prompt.truncated
        assert all(text in user for text in (question.text, *question.choices))


@pytest.mark.parametrize("method", ["greedy", "likelihood"])
def test_answers_are_letters(loaded, runs, questions, render, method):
    run = runs["likeliest_letter"]
    if method == "greedy":
        read = {"format": "letter", "answers": [{"parser": "leading_letter", "right": "letter"}]}
        run = change_run(run, decoding={"method": "greedy", "new_tokens": 2}, read=read)
    outputs, _ = run_prompts(loaded, run, questions, render(run, questions), 0)
    letters = [judge_output(output, run.read).prediction for output in outputs]
    assert sum(letter in tuple("ABCD") for letter in letters) >= 0.9 * len(questions)
    assert len(set(letters)) > 1
