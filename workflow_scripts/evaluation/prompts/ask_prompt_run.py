"""Run a model on the questions of one prompt run and store its outputs as a record with unscored items."""

from pathlib import Path
from typing import Any

from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import hash_text
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import write_record
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.build_engine import build_engine
from workflow_scripts.evaluation.prompts.questions import (
    LETTERS,
    Question,
    read_questions,
    select_questions,
)
from workflow_scripts.evaluation.prompts.rendering import Prompt, Renderer
from workflow_scripts.evaluation.prompts.requests import PromptRequest
from workflow_scripts.evaluation.record_parts import build_metric, build_task_facts, describe_run
from workflow_scripts.evaluation.score_cache import ScoreCache
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import get_hub_folder
from workflow_scripts.hub.record_fields import RunTracker
from workflow_scripts.settings.prompts.spec import PromptSpec

_SAMPLING = ("do_sample", "temperature", "top_p", "top_k")


@validate_call
def ask_prompt_run(
    model: Path, data: list[Path], generations: Path, request: PromptRequest
) -> None:
    """Run all questions and write the outputs; resume from the answers of a killed job."""
    tracker = RunTracker()
    hub, spec, loading = get_hub_folder(data), request.asking, request.compute.loading
    loaded = load_model(model, **loading | {"dtype": spec.dtype or loading["dtype"]})
    questions, dataset = read_questions(hub, spec.questions)
    questions = select_questions(questions, spec.first, request.max_items_per_subject)
    renderer = Renderer(spec, loaded.tokenizer, loaded.model.config, hub)
    prompts = [renderer.render(question) for question in questions]
    decoding = spec.decoding.model_dump(mode="json")
    with ScoreCache.open_for_record(generations, loaded) as score_cache:
        engine = build_engine(loaded, score_cache)
        outputs = run_prompts(engine, loaded.tokenizer, spec, questions, prompts, request.seed)
    truncated = sum(prompt.truncated for prompt in prompts) / len(prompts)
    defaults = {name: getattr(loaded.model.generation_config, name, None) for name in _SAMPLING}
    split = "latest" if spec.questions == "vendor" else "test"
    write_record(
        generations,
        outputs,
        study="prompts",
        task=build_task_facts(
            request.run, dataset.repository, dataset.commit, split, shots=spec.shots.number
        ),
        **describe_run(
            "prompt_run",
            request,
            loaded,
            tracker,
            engine.tokens,
            batch_size=1,
            attention=engine.model.attention,
            engine=engine.description,
            chat_template=spec.messages is not None,
            max_items=request.max_items_per_subject,
            generation=decoding | {"model_generation_config": defaults},
        ),
        metrics=(build_metric("truncated_prompts", truncated, len(outputs)),),
    )
    score_cache.path.unlink()


def run_prompts(
    engine: Any,
    tokenizer: Any,
    spec: PromptSpec,
    questions: list[Question],
    prompts: list[Prompt],
    seed: int,
) -> list[Item]:
    """Return an unscored item with the model's output for each question, in their order."""
    decoding = spec.decoding
    if decoding.method == "likelihood":
        answers = _score_letters(engine, prompts)
    else:
        # A seed depends only on the question: samples do not change with order or selection, and two
        # runs use the same random numbers, so that they differ only by their prompts.
        names = ("prompt run", decoding.seed)
        seeds = [derive_seed(seed, *names, question.id) for question in questions]
        answers = _generate(engine, tokenizer, decoding, prompts, seeds)
    return [
        Item(
            item=question.id,
            subset=question.subject,
            prompt_sha256=hash_text(prompt.text),
            choices=list(question.choices),
            gold=LETTERS[question.gold],
            scores={"truncated": float(prompt.truncated)},
            **fields,
        )
        for question, prompt, fields in zip(questions, prompts, answers, strict=True)
    ]


def _generate(engine, tokenizer, decoding, prompts, seeds) -> list[dict[str, Any]]:
    from workflow_scripts.evaluation.prefix.answer import GenerationRequest

    requests = [
        GenerationRequest(prompt.tokens, decoding.new_tokens, seed=seed)
        for prompt, seed in zip(prompts, seeds, strict=True)
    ]
    # transformers logs a warning if a model has no padding token.
    options = decoding.get_options() | {"pad_token_id": tokenizer.pad_token_id}
    texts = engine.generate(requests, options)
    if texts and not isinstance(texts[0], str):  # a server returns texts
        texts = tokenizer.batch_decode(texts, skip_special_tokens=True)
    return [{"text": text} for text in texts]


def _score_letters(engine, prompts) -> list[dict[str, Any]]:
    pairs = [(prompt.tokens, letter) for prompt in prompts for letter in prompt.continuations]
    window = max(len(context) + len(target) for context, target in pairs)
    scores = iter(engine.loglikelihoods(pairs, window=window))
    return [
        {"loglikelihoods": [next(scores)[0] for _ in prompt.continuations]} for prompt in prompts
    ]


if "snakemake" in globals():
    run_job(ask_prompt_run, snakemake)
