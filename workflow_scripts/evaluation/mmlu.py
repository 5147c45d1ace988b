"""Evaluate MMLU as published: lighteval's task with HELM's prompt, all subjects in one process.

The same questions have three metrics. `em` and `qem` compare a generated answer with the correct letter, `qem` after
HELM's normalisation, as published. This normalisation deletes articles: the correct answer "A" becomes the empty
string, and any answer that becomes empty counts as correct if the key is A. `acc` compares the likeliest of the four
letters.

This runs in a separate process: importing lighteval takes seconds, and its models turn autograd off and are never
imported together with those of lm-eval.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import hash_text
from workflow_scripts.core.items import Item
from workflow_scripts.core.provenance import list_package_versions
from workflow_scripts.core.records import TaskFacts, write_record
from workflow_scripts.evaluation.baselines import Baseline
from workflow_scripts.evaluation.group_metrics import MetricWithBaseline, add_group_averages
from workflow_scripts.evaluation.record_parts import build_metric, describe_run
from workflow_scripts.evaluation.requests import MmluRequest
from workflow_scripts.evaluation.score_cache import ScoreCache
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.manifest import get_hub_folder
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.record_fields import RunTracker
from workflow_scripts.settings.mmlu import MmluPrompt

TASK, STUDY = "mmlu_helm", "mmlu"
LETTERS = ("A", "B", "C", "D")
# HELM's normalisation makes it empty, so it scores at least as high as "A" under qem.
_PUNCTUATION = "."
_ALIAS = "chorus/model"  # lighteval needs a name, and would look up a real one on the hub


@validate_call
def evaluate_mmlu(model: Path, data: list[Path], record: Path, request: MmluRequest) -> None:
    """Evaluate a checkpoint on all questions and write the record and its items."""
    tracker = RunTracker()
    loaded = load_model(model, **request.compute.loading)
    score_cache = ScoreCache.open_for_record(record, loaded)
    lm = build_lighteval_model(loaded, model.parent)
    lm.engine.look_up_answers = score_cache.look_up_answers
    with score_cache, mirror(get_hub_folder(data)) as datasets:
        tasks = load_subjects(request.prompt, request.shots)
        docs = [task.get_docs(request.max_items_per_subject) for task in tasks]
        responses = iter(run_questions(lm, list(chain.from_iterable(docs))))
    items: list[Item] = []
    subject_metrics: list[MetricWithBaseline] = []
    num_truncated = 0
    for task, task_docs in zip(tasks, docs, strict=True):
        answers = [next(responses) for _ in task_docs]
        # A prompt is truncated if the prompt and one new token exceed the model's window.
        num_truncated += sum(len(answer.input_tokens) + 1 > lm.max_length for answer in answers)
        scores = {
            metric.metric_name: compute_scores(metric, task_docs, answers)
            for metric in task.metrics
        }
        subject_metrics += [
            build_subject_metric(metric, task, task_docs, scores[metric.metric_name])
            for metric in task.metrics
        ]
        for index in sorted(range(len(task_docs)), key=lambda index: int(task_docs[index].id)):
            doc = task_docs[index]
            prompt = lm.prompt_manager.prepare_prompt(doc)
            item_scores = {name: values[index] for name, values in scores.items()}
            subject = get_subject(task.name)
            items.append(build_item(subject, doc, prompt, answers[index], item_scores))
    (dataset,) = datasets.values()
    first_task = tasks[0]
    write_record(
        record,
        items,
        study=STUDY,
        task=TaskFacts(
            name=TASK,
            harness="lighteval",
            harness_version=list_package_versions()["lighteval"],
            dataset=dataset.repository,
            dataset_commit=dataset.commit,
            split=first_task.evaluation_split[0],
            shots=request.shots,
            version=str(first_task.version),
        ),
        **describe_run(
            "few_shot",
            request,
            loaded,
            tracker,
            lm.engine.tokens,
            attention=lm.engine.model.attention,
            engine=lm.engine.description,
            max_items=request.max_items_per_subject,
            generation={
                "max_new_tokens": first_task.generation_size,
                "until": list(first_task.stop_sequence),
                "do_sample": False,
            },
        ),
        metrics=(
            *add_group_averages(subject_metrics),
            *(
                build_metric(name, count / len(items), len(items))
                for name, count in (
                    ("format_met", sum(bool(item.format_met) for item in items)),
                    ("empty_answers", sum(not item.prediction for item in items)),
                    ("truncated_prompts", num_truncated),
                )
            ),
        ),
    )
    score_cache.path.unlink()


def build_subject_metric(
    metric: Any, task: Any, docs: list[Any], values: list[float]
) -> MetricWithBaseline:
    """Average the scores of a subject's questions, with lighteval's standard error."""
    from lighteval.metrics.utils.stderr import mean_stderr

    return MetricWithBaseline(
        task=get_subject(task.name),
        name=metric.metric_name,
        value=float(np.mean(values)),
        stderr=mean_stderr(values) if len(values) > 1 else None,
        n=len(values),
        baseline=compute_baseline(metric, docs),
    )


def build_lighteval_model(loaded: LoadedModel, folder: Path) -> Any:
    """Build lighteval's model; `folder` holds the tokenizer."""
    from lighteval.models.transformers.transformers_model import TransformersModelConfig

    from workflow_scripts.evaluation.prefix_lighteval import PrefixTransformersModel

    with TemporaryDirectory(prefix="chorus-lighteval-") as unused:
        config = TransformersModelConfig(
            model_name=_ALIAS,
            tokenizer=str(folder),
            dtype=loaded.dtype,
            device=loaded.device,
            cache_dir=unused,
            override_chat_template=False,
        )
        return PrefixTransformersModel.from_model(loaded.model, config)


def run_questions(model: Any, docs: list[Any]) -> list[Any]:
    """Return a response per question, with the generated answer and the log-likelihoods of the letters."""
    answers = model.greedy_until(docs)
    responses = model.loglikelihood(docs)
    for response, answer in zip(responses, answers, strict=True):
        response.text = answer.text
    return responses


def format_published_prompt(line: dict[str, Any], task_name: str | None = None) -> Any:
    """Format a question as lighteval 0.2 to 0.10 did, with one blank line after the instruction.

    The instruction ends with two line breaks; later versions add two more before the examples.
    """
    from lighteval.tasks.tasks.mmlu import mmlu_prompt

    doc = mmlu_prompt(line, task_name)
    doc.instruction = doc.instruction.rstrip("\n")
    return doc


def load_subjects(prompt: MmluPrompt, shots: int) -> list[Any]:
    """Load lighteval's tasks of all subjects in its order, with the metrics em, qem and acc."""
    from lighteval.metrics.metrics import Metrics
    from lighteval.metrics.metrics_sample import ExactMatches
    from lighteval.metrics.normalizations import helm_normalizer
    from lighteval.metrics.utils.metric_utils import SampleLevelMetric
    from lighteval.tasks.lighteval_task import LightevalTask
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
    changes: dict[str, Any] = {"metrics": metrics, "num_fewshots": shots}
    if prompt == "published":
        changes["prompt_function"] = format_published_prompt
    return [LightevalTask(replace(config, **changes)) for config in TASKS_TABLE]


def get_subject(task: str) -> str:
    return task.removeprefix("mmlu:")


def compute_scores(metric: Any, docs: list[Any], responses: Iterable[Any]) -> list[float]:
    """Compute lighteval's metric for each question."""
    name = metric.metric_name
    return [
        float(metric.compute_sample(doc=doc, model_response=response)[name])
        for doc, response in zip(docs, responses, strict=True)
    ]


def compute_baseline(metric: Any, docs: list[Any]) -> Baseline:
    """Compute the score of each fixed answer, and of random letters, under lighteval's own metric."""
    from lighteval.models.model_output import ModelResponse

    scores = {}
    for text in LETTERS if metric.metric_name == "acc" else (*LETTERS, _PUNCTUATION):
        logprobs = [0.0 if letter == text else -1e9 for letter in LETTERS]
        response = ModelResponse(text=[text], logprobs=logprobs)
        scores[text] = compute_scores(metric, docs, [response] * len(docs))
    chance = np.mean([scores[letter] for letter in LETTERS])
    return Baseline({text: float(np.mean(row)) for text, row in scores.items()}, float(chance))


def build_item(
    subject: str, doc: Any, prompt: str, response: Any, scores: dict[str, float]
) -> Item:
    (text,) = response.text
    letter = text.strip()
    return Item(
        item=f"{subject}/{doc.id}",
        subset=subject,
        prompt_sha256=hash_text(prompt),
        gold=LETTERS[doc.gold_index],
        prediction=letter,
        correct=scores["em"] == 1.0,
        format_met=letter in LETTERS,
        scores=scores,
        text=text,
        loglikelihoods=response.logprobs,
    )


if "snakemake" in globals():
    run_job(evaluate_mmlu, snakemake)
