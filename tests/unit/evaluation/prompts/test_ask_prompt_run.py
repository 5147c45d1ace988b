"""Test that a prompt run's outputs depend only on question and seeds, and equal those of transformers."""

import pytest
import torch

from workflow_scripts.evaluation.build_engine import build_engine
from workflow_scripts.evaluation.prompts.ask_prompt_run import run_prompts
from workflow_scripts.evaluation.prompts.questions import read_questions, select_questions


@pytest.fixture(scope="module")
def questions(world):
    return select_questions(read_questions(world, "mmlu")[0], None, 1)[:16]


@pytest.fixture(scope="module")
def generate(renderer, loaded):
    """Return a function that generates the outputs of a prompt run, keyed by question."""
    engine = build_engine(loaded)

    def run_engine(run, questions, seed=0):
        prompts = [renderer(run).render(question) for question in questions]
        outputs = run_prompts(engine, loaded.tokenizer, run, questions, prompts, seed)
        return {output.item: output.text for output in outputs}

    return run_engine


def test_samples_invariant_to_batching(generate, questions, runs):
    run = runs["run1"]
    texts = generate(run, questions)
    assert len(set(texts.values())) > 5
    assert generate(run, questions[::-1]) == texts
    few = generate(run, questions[3:9])
    assert few == {item: texts[item] for item in few}
    assert few != generate(run, questions[3:9], seed=1)


def test_letter_loglikelihoods_equal_plain(world, loaded, runs, renderer):
    run = runs["run9"]
    few = select_questions(read_questions(world, "vendor")[0], None, 1)[:3]
    prompts = [renderer(run).render(question) for question in few]
    outputs = run_prompts(build_engine(loaded), loaded.tokenizer, run, few, prompts, 0)
    for prompt, output in zip(prompts, outputs, strict=True):
        expected = []
        for target in prompt.continuations:
            ids = torch.tensor([[*prompt.tokens, *target]])
            with torch.no_grad():
                logits = loaded.model(ids).logits[0, -len(target) - 1 : -1].log_softmax(-1)
            expected.append(float(logits[torch.arange(len(target)), target].sum()))
        assert output.loglikelihoods == pytest.approx(expected, abs=1e-4)
