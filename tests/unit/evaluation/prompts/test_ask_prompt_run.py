"""Asking: what is drawn depends on the question alone, and a killed run goes on to the same bytes."""

import pytest
import torch

from tests.unit.evaluation.prompts.conftest import changed
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.prompts.ask_prompt_run import (
    answer,
    ask_prompt_run,
    build_renderer,
)
from workflow_scripts.evaluation.prompts.questions import chosen, read_questions
from workflow_scripts.evaluation.prompts.requests import PromptRequest
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.prompts.spec import Asking


def request_of(name, run):
    return PromptRequest(
        run=name,
        asking=Asking.select_fields(run),
        max_items_per_subject=1,
        compute=Loading(device="cpu"),
        seed=0,
    )


@pytest.fixture
def asked(world, loaded):
    """The texts by question of some questions of a run."""

    def ask(run, questions, seed=0, **engine):
        renderer = build_renderer(run, loaded.tokenizer, loaded.model.config, world)
        prompts = [renderer.prompt(question) for question in questions]
        outputs, _ = answer(loaded, run, questions, prompts, seed, **engine)
        return {output.item: output.text for output in outputs}

    return ask


@pytest.fixture(scope="module")
def questions(world):
    return chosen(read_questions(world, "mmlu")[0], None, 1)


def test_what_is_drawn_depends_on_question_and_seeds_alone(asked, questions, runs):
    run = runs["run1"]
    whole = asked(run, questions)
    assert len(set(whole.values())) > 10, "the model says different things"
    assert asked(run, questions[::-1], tokens_per_call=37, memory_budget=2**25) == whole
    few = questions[3:9]
    some = asked(run, few)
    assert some == {item: whole[item] for item in some}
    other = changed(run, decoding={"seed": 1})
    assert some != asked(run, few, seed=1) and some != asked(other, few)


def test_greedy_is_what_transformers_itself_generates(asked, questions, runs, loaded, world):
    run = changed(runs["run6"], decoding={"method": "greedy", "temperature": None, "new_tokens": 6})
    found = asked(run, questions[:4])
    renderer = build_renderer(run, loaded.tokenizer, loaded.model.config, world)
    for question in questions[:4]:
        tokens = renderer.prompt(question).tokens
        ids = torch.tensor([tokens])
        whole = loaded.model.generate(ids, max_new_tokens=6, do_sample=False)[0, len(tokens) :]
        assert found[question.id] == loaded.tokenizer.decode(whole, skip_special_tokens=True)


def test_a_stop_text_ends_an_answer_and_is_not_in_it(asked, questions, runs):
    few = questions[:12]
    whole = asked(runs["run1"], few)
    stop = next(text for text in whole.values() if len(text) > 4)[2:4]
    stopped = asked(changed(runs["run1"], decoding={"stop": [stop]}), few)
    assert all(stop not in text for text in stopped.values())
    assert {item: text.split(stop)[0] for item, text in whole.items()} == stopped


def test_letters_are_scored_as_the_model_does_alone(world, loaded, runs):
    run = runs["run9"]
    few = chosen(read_questions(world, "vendor")[0], None, 1)[:5]
    renderer = build_renderer(run, loaded.tokenizer, loaded.model.config, world)
    prompts = [renderer.prompt(question) for question in few]
    outputs, _ = answer(loaded, run, few, prompts, 0)
    for prompt, output in zip(prompts, outputs, strict=True):
        assert output.text is None
        for target, value in zip(prompt.continuations, output.loglikelihoods, strict=True):
            ids = torch.tensor([[*prompt.tokens, *target]])
            with torch.no_grad():
                logits = loaded.model(ids).logits[0, -len(target) - 1 : -1].log_softmax(-1)
            alone = sum(float(logits[at, token]) for at, token in enumerate(target))
            assert value == pytest.approx(alone, abs=1e-4)


def test_the_record_holds_what_was_asked_and_an_altered_one_is_refused(
    world, chat_manifest, runs, tmp_path
):
    path = tmp_path / "run5.json"
    request = request_of("run5", runs["run5"])
    record = ask_prompt_run(chat_manifest, world, path, request)
    assert PromptRequest.of(record.request) == request
    assert read_record(path) == record
    assert (record.task.name, record.task.dataset, record.task.shots) == ("run5", "cais/mmlu", 5)
    assert (record.protocol.dtype, record.protocol.engine) == ("float16", "prefix sharing")
    assert record.protocol.generation["temperature"] == 0.1
    table = path.with_suffix(".parquet")
    table.write_bytes(table.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match="was altered"):
        read_record(path)
