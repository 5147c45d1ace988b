"""Outputs of a run depend on the question and the seeds alone, and are those of transformers."""

import pytest
import torch

from tests.unit.evaluation.prompts.conftest import change_run
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.prompts.ask_prompt_run import ask_prompt_run, run_prompts
from workflow_scripts.evaluation.prompts.questions import read_questions, select_questions
from workflow_scripts.evaluation.prompts.requests import PromptRequest
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.prompts.spec import Asking


@pytest.fixture(scope="module")
def questions(world):
    return select_questions(read_questions(world, "mmlu")[0], None, 1)[:16]


@pytest.fixture(scope="module")
def generate(renderer, loaded):
    """Return the texts of a run by question."""

    def run_engine(run, questions, seed=0, **engine):
        prompts = [renderer(run).render(question) for question in questions]
        outputs, _ = run_prompts(loaded, run, questions, prompts, seed, **engine)
        return {output.item: output.text for output in outputs}

    return run_engine


def test_samples_invariant_to_batching(generate, questions, runs):
    run = runs["run1"]
    texts = generate(run, questions)
    assert len(set(texts.values())) > 5
    assert generate(run, questions[::-1], tokens_per_call=37, memory_budget=2**25) == texts
    few = questions[3:9]
    some = generate(run, few)
    assert some == {item: texts[item] for item in some}
    assert some != generate(run, few, seed=1)
    assert some != generate(change_run(run, decoding={"seed": 1}), few)
    # A stop string ends an output and is not part of it.
    stop = next(text for text in texts.values() if len(text) > 4)[2:4]
    stopped = generate(change_run(run, decoding={"stop": [stop]}), questions)
    assert stopped == {item: text.split(stop)[0] for item, text in texts.items()}


def test_greedy_equals_transformers(generate, questions, runs, loaded, renderer):
    run = change_run(
        runs["run6"], decoding={"method": "greedy", "temperature": None, "new_tokens": 6}
    )
    texts = generate(run, questions[:4])
    for question in questions[:4]:
        ids = torch.tensor([renderer(run).render(question).tokens])
        whole = loaded.model.generate(ids, max_new_tokens=6, do_sample=False)[0, ids.shape[1] :]
        assert texts[question.id] == loaded.tokenizer.decode(whole, skip_special_tokens=True)


def test_letter_loglikelihoods_equal_plain(world, loaded, runs, renderer):
    run = runs["run9"]
    few = select_questions(read_questions(world, "vendor")[0], None, 1)[:3]
    prompts = [renderer(run).render(question) for question in few]
    outputs, _ = run_prompts(loaded, run, few, prompts, 0)
    for prompt, output in zip(prompts, outputs, strict=True):
        expected = []
        for target in prompt.continuations:
            ids = torch.tensor([[*prompt.tokens, *target]])
            with torch.no_grad():
                logits = loaded.model(ids).logits[0, -len(target) - 1 : -1].log_softmax(-1)
            expected.append(float(logits[torch.arange(len(target)), target].sum()))
        assert output.loglikelihoods == pytest.approx(expected, abs=1e-4)


def test_prompt_run_record(world, chat_manifest, runs, tmp_path):
    request = PromptRequest(
        run="run5",
        asking=Asking.select_fields(runs["run5"]),
        max_items_per_subject=1,
        compute=Loading(device="cpu"),
        seed=0,
    )
    record = ask_prompt_run(chat_manifest, world, tmp_path / "run5.json", request)
    assert read_record(tmp_path / "run5.json") == record
    assert PromptRequest.of(record.request) == request
    assert (record.task.name, record.task.dataset, record.task.shots) == ("run5", "cais/mmlu", 5)
    assert (record.protocol.dtype, record.protocol.engine) == ("float16", "prefix sharing")
    assert record.protocol.generation["temperature"] == 0.1
