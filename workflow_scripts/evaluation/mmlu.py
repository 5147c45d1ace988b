"""Evaluate MMLU as published: lighteval's task with HELM's prompt, all subjects in one process.

The same questions have three metrics. `em` and `qem` compare a generated answer with the correct letter, `qem` after
HELM's normalisation, as published. This normalisation deletes articles: the correct answer "A" becomes the empty
string, and any answer that becomes empty counts as correct if the key is A. `acc` compares the likeliest of the four
letters.

This runs in a separate process: importing lighteval takes seconds, and its models turn autograd off and are never
imported together with those of lm-eval.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import hash_text
from workflow_scripts.core.items import Item
from workflow_scripts.core.provenance import list_package_versions
from workflow_scripts.core.records import TaskFacts, write_record
from workflow_scripts.evaluation.baselines import Baseline
from workflow_scripts.evaluation.lm_eval_results import MetricWithBaseline, add_group_averages
from workflow_scripts.evaluation.record_parts import build_metric, build_protocol
from workflow_scripts.evaluation.requests import MmluRequest
from workflow_scripts.evaluation.score_cache import ScoreCache, get_score_cache_path
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.manifest import get_hub_folder
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.record_fields import Recording
from workflow_scripts.settings.mmlu import MmluPrompt

TASK, STUDY = "mmlu_helm", "mmlu"
LETTERS = ("A", "B", "C", "D")
# HELM's normalisation makes it empty, so it scores at least as high as "A" under qem.
PUNCTUATION = "."
_ALIAS = "chorus/model"  # lighteval needs a name, and would look up a real one on the hub


def evaluate_mmlu(manifest_path: Path, hub: Path, record_path: Path, request: MmluRequest) -> None:
    """Evaluate a checkpoint on all questions and write the record and its items."""
    recording = Recording()
    loaded = load_model(manifest_path, **request.compute.loading)
    harness_version = list_package_versions()["lighteval"]
    scored_items = ScoreCache.open_for_record(
        record_path,
        loaded,
        harness=f"lighteval {harness_version}",
        batch_size=request.compute.batch_size,
        seed=request.seed,
    )
    configs = list_subject_configs(request.prompt)
    with scored_items, mirror(hub) as datasets, limit_registry(configs):
        model, logs = run_lighteval(loaded, manifest_path.parent, configs, request, scored_items)
    items: list[Item] = []
    measured: list[MetricWithBaseline] = []
    truncated = 0
    for config in configs:
        name = f"{config.name}|{request.shots}"
        details = sorted(logs.details_logger.details[name], key=lambda detail: int(detail.doc.id))
        docs = list({detail.doc.id: detail.doc for detail in details}.values())
        prompts = [model.prompt_manager.prepare_prompt(doc) for doc in docs]
        # A prompt is truncated if the prompt and one new token exceed the model's window.
        encoded = model.tokenizer_cache.encode(prompts, None)
        truncated += sum(len(tokens) + 1 > model.max_length for tokens in encoded)
        subject = get_subject(config.name)
        items += build_items(subject, details, prompts)
        results = logs.metrics_logger.metric_aggregated[name]
        for metric in config.metrics:
            score = MetricWithBaseline(
                task=subject,
                name=metric.metric_name,
                value=float(results[metric.metric_name]),
                stderr=results.get(f"{metric.metric_name}_stderr"),
                n=len(docs),
                baseline=compute_baseline(metric, docs),
            )
            measured.append(score)
    (dataset,) = datasets.values()
    first = configs[0]
    write_record(
        record_path,
        items,
        study=STUDY,
        task=TaskFacts(
            name=TASK,
            harness="lighteval",
            harness_version=harness_version,
            dataset=dataset.repository,
            dataset_commit=dataset.commit,
            split=first.evaluation_splits[0],
            shots=request.shots,
            version=str(first.version),
        ),
        protocol=build_protocol(
            "few_shot",
            loaded,
            seed=request.seed,
            batch_size=request.compute.batch_size,
            attention=model.engine.model.attention,
            engine=model.engine.description,
            max_items=request.max_items_per_subject,
            generation={
                "max_new_tokens": first.generation_size,
                "until": list(first.stop_sequence),
                "do_sample": False,
            },
        ),
        metrics=(
            *add_group_averages(measured),
            *(
                build_metric(name, count / len(items), len(items))
                for name, count in (
                    ("format_met", sum(bool(item.format_met) for item in items)),
                    ("empty_answers", sum(not item.prediction for item in items)),
                    ("truncated_prompts", truncated),
                )
            ),
        ),
        **recording.parts(request, loaded, model.engine.tokens),
    )


def run_lighteval(
    loaded: LoadedModel,
    folder: Path,
    configs: list[Any],
    request: MmluRequest,
    scored_items: ScoreCache,
) -> tuple[Any, Any]:
    """Run tasks and return lighteval's model and evaluation tracker; `folder` holds the tokenizer."""
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
        pipeline = Pipeline(
            tasks=",".join(f"{config.name}|{request.shots}" for config in configs),
            pipeline_parameters=PipelineParameters(
                launcher_type=ParallelismManager.NONE,
                max_samples=request.max_items_per_subject,
                bootstrap_iters=1,  # the standard error of a mean needs no bootstrap
            ),
            evaluation_tracker=tracker,
            model=model,
        )
        model._cache = None  # lighteval's response cache ignores changes of the weights
        pipeline.evaluate()
    return model, tracker


@contextmanager
def limit_registry(configs: list[Any]) -> Iterator[None]:
    """Limit lighteval's registry to these tasks; the full registry imports modules that go online or fail."""
    from lighteval.tasks.registry import Registry

    by_name = {config.name: config for config in configs}
    load = staticmethod(lambda custom_tasks=None, load_multilingual=False: by_name)
    with patch.object(Registry, "load_all_task_configs", load):
        yield


def format_published_prompt(line: dict[str, Any], task_name: str | None = None) -> Any:
    """Format a question as lighteval 0.2 to 0.10 did, with one blank line after the instruction.

    The instruction ends with two line breaks; later versions add two more before the examples.
    """
    from lighteval.tasks.tasks.mmlu import mmlu_prompt

    doc = mmlu_prompt(line, task_name)
    doc.instruction = doc.instruction.rstrip("\n")
    return doc


def list_subject_configs(prompt: MmluPrompt) -> list[Any]:
    """List lighteval's tasks of all subjects in its order, with the metrics em, qem and acc."""
    from lighteval.metrics.metrics import Metrics
    from lighteval.metrics.metrics_sample import ExactMatches
    from lighteval.metrics.normalizations import helm_normalizer
    from lighteval.metrics.utils.metric_utils import SampleLevelMetric
    from lighteval.tasks.requests import SamplingMethod
    from lighteval.tasks.tasks.mmlu import TASKS_TABLE

    # The definition of qem in lighteval before it dropped the metric.
    qem = SampleLevelMetric(
        metric_name="qem",
        sample_level_fn=ExactMatches(
            normalize_gold=helm_normalizer, normalize_pred=helm_normalizer, strip_strings=True
        ),
        category=SamplingMethod.GENERATIVE,
        corpus_level_fn=np.mean,
        higher_is_better=True,
    )
    metrics = [Metrics.exact_match.value, qem, Metrics.loglikelihood_acc.value]
    changes: dict[str, Any] = {"metrics": metrics}
    if prompt == "published":
        changes["prompt_function"] = format_published_prompt
    return [replace(config, **changes) for config in TASKS_TABLE]


def get_subject(task: str) -> str:
    return task.removeprefix("mmlu:")


def compute_baseline(metric: Any, docs: list[Any]) -> Baseline:
    """Compute the score of each fixed answer, and of random letters, under lighteval's own metric."""
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import SamplingMethod

    if metric.category == SamplingMethod.LOGPROBS:
        responses = {
            letter: ModelResponse(logprobs=[0.0 if other == letter else -1e9 for other in LETTERS])
            for letter in LETTERS
        }
    else:
        responses = {text: ModelResponse(text=[text]) for text in (*LETTERS, PUNCTUATION)}
    scores = {
        text: [
            metric.compute_sample(doc=doc, model_response=response)[metric.metric_name]
            for doc in docs
        ]
        for text, response in responses.items()
    }
    chance = np.mean([scores[letter] for letter in LETTERS])
    return Baseline({text: float(np.mean(row)) for text, row in scores.items()}, float(chance))


def build_items(subject: str, details: list[Any], prompts: list[str]) -> list[Item]:
    """Build an item per question from lighteval's details, which hold it once per sampling method."""
    answers: dict[str, dict[str, Any]] = {}
    for detail in details:
        fields = answers.setdefault(detail.doc.id, {"doc": detail.doc, "scores": {}, "text": ""})
        fields["scores"] |= {name: float(value) for name, value in detail.metric.items()}
        if detail.model_response.text:
            fields["text"] = detail.model_response.text[0]
        if detail.model_response.logprobs:
            fields["loglikelihoods"] = [float(value) for value in detail.model_response.logprobs]
    items = []
    for prompt, (number, fields) in zip(prompts, answers.items(), strict=True):
        letter = fields["text"].strip()
        item = Item(
            item=f"{subject}/{number}",
            subset=subject,
            prompt_sha256=hash_text(prompt),
            gold=LETTERS[fields.pop("doc").gold_index],
            prediction=letter,
            correct=fields["scores"]["em"] == 1.0,
            format_met=letter in LETTERS,
            **fields,
        )
        items.append(item)
    return items


def main(model: Path, data: list[Path], record: Path, request: dict[str, Any]) -> None:
    evaluate_mmlu(model, get_hub_folder(data[0]), record, MmluRequest.of(request))
    get_score_cache_path(record).unlink(missing_ok=True)


if "snakemake" in globals():
    run_job(main, snakemake)
