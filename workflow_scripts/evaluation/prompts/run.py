"""Ask a model the questions of one prompt run and keep what it says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import sha256_text
from workflow_scripts.core.items import Item
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.measurement import Measurement
from workflow_scripts.evaluation.prompts.outputs import OutputsFacts, read_outputs, write_outputs
from workflow_scripts.evaluation.prompts.questions import (
    LETTERS,
    Question,
    chosen,
    read_dev,
    read_questions,
)
from workflow_scripts.evaluation.prompts.rendering import Prompt, Renderer
from workflow_scripts.evaluation.prompts.requests import PromptRequest
from workflow_scripts.evaluation.record_parts import HARNESS, HARNESS_VERSION, own_task, protocol_of
from workflow_scripts.evaluation.scored_items import Answers, ScoredItems
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.recording import Recording
from workflow_scripts.settings.prompts.spec import Asking

_STOP_LOOKBACK = 2  # tokens before a stop text that are decoded with it
_OWN_SETTINGS = ("do_sample", "temperature", "top_p", "top_k")


def ask_prompt_run(
    manifest_path: Path, hub: Path, path: Path, request: PromptRequest
) -> OutputsFacts:
    """Ask all questions of the run and write the outputs, going on where a killed job stopped."""
    spec, recording = request.asking, Recording()
    loading = request.compute.loading
    loaded = load_model(manifest_path, **loading | {"dtype": spec.dtype or loading["dtype"]})
    questions, dataset = read_questions(hub, spec.questions)
    questions = chosen(questions, spec.first, request.max_items_per_subject)
    renderer = renderer_for(spec, loaded.tokenizer, loaded.model.config, hub)
    prompts = [renderer.prompt(question) for question in questions]
    scored_items = ScoredItems.beside(
        path,
        loaded,
        harness=f"{HARNESS} {HARNESS_VERSION}",
        decoding=spec.decoding.model_dump(mode="json"),
    )
    with scored_items:
        outputs, engine = answer(loaded, spec, questions, prompts, request.seed, scored_items)
    return write_outputs(
        path,
        outputs,
        task=own_task(
            request.run,
            dataset,
            "latest" if spec.questions == "vendor" else "test",
            shots=spec.shots.number,
        ),
        protocol=protocol_of(
            "prompt_run",
            loaded,
            seed=request.seed,
            batch_size=1,
            attention=engine.model.attention,
            engine=engine.description,
            chat_template=spec.messages is not None,
            max_items=request.max_items_per_subject,
            generation=spec.decoding.model_dump(mode="json")
            | {"model_generation_config": _own_settings(loaded)},
        ),
        **recording.parts(request, loaded, engine.tokens),
    )


def renderer_for(spec: Asking, tokenizer: Any, config: Any, hub: Path) -> Renderer:
    needs_dev = spec.shots.source in ("fixed_dev", "subject_dev")
    return Renderer(
        spec, tokenizer, read_dev(hub) if needs_dev else [], config.max_position_embeddings
    )


def answer(
    loaded: LoadedModel,
    spec: Asking,
    questions: list[Question],
    prompts: list[Prompt],
    seed: int,
    scored_items: ScoredItems | None = None,
    **engine_options: Any,
):
    """The outputs in the order of the questions, and the engine that made them."""
    from workflow_scripts.evaluation.engine_of import engine_of

    engine = engine_of(loaded, **engine_options)
    get: Callable = _likelihoods if spec.decoding.method == "likelihood" else _generated
    answers = get(engine, loaded.tokenizer, spec, questions, prompts, seed, scored_items)
    outputs = [
        Item(
            item=question.id,
            subset=question.subject,
            prompt_sha256=sha256_text(prompt.text),
            choices=list(question.choices),
            gold=LETTERS[question.gold],
            prediction=None,
            scores={"truncated": float(prompt.truncated)},
            **said,
        )
        for question, prompt, said in zip(questions, prompts, answers, strict=True)
    ]
    return outputs, engine


def _generated(engine, tokenizer, spec, questions, prompts, seed, scored_items) -> list[dict]:
    from workflow_scripts.evaluation.prefix.answer import GenerationRequest
    from workflow_scripts.evaluation.prefix.choosing import StopStrings

    decoding = spec.decoding
    # Of the question alone, so neither the order nor what else is asked changes what is drawn; and
    # not of the run, so that two runs draw alike and differ by what they ask.
    seeds = [derive_seed(seed, "prompt run", decoding.seed, question.id) for question in questions]
    stored = Answers(
        scored_items,
        [
            ("generation", (prompt.tokens,), {"seed": one} if decoding.method == "sample" else {})
            for prompt, one in zip(prompts, seeds, strict=True)
        ],
    )
    stop = StopStrings(tokenizer, decoding.stop, _STOP_LOOKBACK) if decoding.stop else None
    generated = engine.generate(
        [
            GenerationRequest(prompt.tokens, decoding.new_tokens, stop, one)
            for prompt, one in zip(prompts, seeds, strict=True)
        ],
        # Transformers wants one, and says so in the log where a model has none.
        decoding.options() | {"pad_token_id": tokenizer.pad_token_id},
        known=stored.known,
        on_generated=stored.store,
    )
    texts = (
        said if isinstance(said, str) else tokenizer.decode(said, skip_special_tokens=True)
        for said in generated
    )
    return [{"text": _until(text, decoding.stop)} for text in texts]


def _likelihoods(engine, tokenizer, spec, questions, prompts, seed, scored_items) -> list[dict]:
    pairs = [
        (prompt.tokens, continuation) for prompt in prompts for continuation in prompt.continuations
    ]
    stored = Answers(scored_items, [("loglikelihood", pair, {}) for pair in pairs])
    known = {at: tuple(value) for at, value in stored.known.items()}
    window = max((len(context) + len(target) for context, target in pairs), default=1)
    scores = iter(engine.loglikelihoods(pairs, window=window, known=known, on_scored=stored.store))
    return [
        {"loglikelihoods": [next(scores)[0] for _ in prompt.continuations]} for prompt in prompts
    ]


def _until(text: str, stops: tuple[str, ...]) -> str:
    return text[: min([at for stop in stops if (at := text.find(stop)) >= 0], default=len(text))]


def _own_settings(loaded: LoadedModel) -> dict[str, Any]:
    """What the model's generation config says of what a run may leave open."""
    config = loaded.model.generation_config
    return {name: getattr(config, name, None) for name in _OWN_SETTINGS}


MEASUREMENT = Measurement(PromptRequest, ask_prompt_run, writes=("run",), read=read_outputs)
