"""Run lighteval's own tasks on one loaded model and keep everything that a record needs.

In a process of its own: importing lighteval takes seconds and switches autograd off, and it is
never beside lm-eval.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from workflow_scripts.evaluation.forward_tokens import counted_tokens
from workflow_scripts.evaluation.requests import MmluRequest
from workflow_scripts.evaluation.score_cache import ScoreCache
from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.manifest import Manifest
from workflow_scripts.hub.mirror import mirror

_ALIAS = "chorus/model"  # lighteval wants a name; it would look for the real one on the hub


@dataclass
class Answered:
    """One question, its answer and lighteval's scores of it."""

    doc: Any  # lighteval's Doc
    prompt: str
    truncated: bool  # the prompt and a token do not fit into the model's window
    text: str = ""
    loglikelihoods: list[float] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class LightevalResult:
    answered: dict[str, list[Answered]]  # by task, in the order of the dataset
    results: dict[str, dict[str, float]]  # lighteval's metrics by task, `<name>_stderr` among them
    datasets: dict[str, Manifest]
    tokens: int
    engine: str  # what ran the model: prefix sharing, or plain batches and why
    attention: str | None


def run_lighteval(
    loaded: LoadedModel,
    folder: Path,
    hub: Path,
    configs: list[Any],
    request: MmluRequest,
    scored_items: ScoreCache,
) -> LightevalResult:
    """Run these task configs; of each, so many questions of lighteval's own choice, or all.

    `folder` holds the tokenizer, which lighteval reads by itself.
    """
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.models.transformers.transformers_model import TransformersModelConfig
    from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters

    from workflow_scripts.evaluation.prefix_lighteval import PrefixTransformersModel

    with TemporaryDirectory(prefix="chorus-lighteval-") as unused:
        model = PrefixTransformersModel.from_model(
            loaded.model,
            TransformersModelConfig(
                model_name=_ALIAS,
                tokenizer=str(folder),
                dtype=loaded.dtype,
                batch_size=request.compute.batch_size,
                device=loaded.device,
                cache_dir=unused,
                override_chat_template=False,
            ),
            seed=request.seed,
            scored_items=scored_items,
        )
        tracker = EvaluationTracker(output_dir=unused)
        with mirror(hub) as datasets, _only(configs), counted_tokens(loaded.model) as count:
            pipeline = Pipeline(
                tasks=",".join(f"{config.name}|{request.shots}" for config in configs),
                pipeline_parameters=PipelineParameters(
                    launcher_type=ParallelismManager.NONE,
                    max_samples=request.max_items_per_subject,
                    bootstrap_iters=1,  # the error of a mean is computed, not drawn
                ),
                evaluation_tracker=tracker,
                model=model,
            )
            pipeline.evaluate()
    names = {f"{config.name}|{request.shots}": config.name for config in configs}
    aggregated = tracker.metrics_logger.metric_aggregated
    return LightevalResult(
        answered={
            name: _collect_answers(tracker.details_logger.details[full], model)
            for full, name in names.items()
        },
        results={name: dict(aggregated[full]) for full, name in names.items()},
        datasets=datasets,
        tokens=count["tokens"] if model.tokens is None else model.tokens,
        engine=model.engine_used,
        attention=model.engine.model.attention,
    )


def _collect_answers(details: list, model: Any) -> list[Answered]:
    """Collect one answer per question; lighteval's details have each question once per sampling method."""
    docs = {detail.doc.id: detail.doc for detail in details}
    prompts = [model.prompt_manager.prepare_prompt(doc) for doc in docs.values()]
    answers = {}
    encoded = model.tokenizer_cache.encode(prompts, None)
    for doc, prompt, tokens in zip(docs.values(), prompts, encoded, strict=True):
        answers[doc.id] = Answered(doc, prompt, truncated=len(tokens) + 1 > model.max_length)
    for detail in details:
        answer, response = answers[detail.doc.id], detail.model_response
        answer.scores |= {name: float(value) for name, value in detail.metric.items()}
        if response.text:
            answer.text = response.text[0]
        if response.logprobs:
            answer.loglikelihoods = [float(value) for value in response.logprobs]
    return [answers[key] for key in sorted(answers, key=int)]


@contextmanager
def _only(configs: list[Any]) -> Iterator[None]:
    """Limit the registry to these tasks: that of all imports modules that go online or fail."""
    from lighteval.tasks.registry import Registry

    by_name = {config.name: config for config in configs}
    load = staticmethod(lambda custom_tasks=None, load_multilingual=False: by_name)
    with patch.object(Registry, "load_all_task_configs", load):
        yield
