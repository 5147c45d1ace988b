"""Evaluate MMLU as published: lighteval's task with HELM's prompt, all subjects in one process.

Three metrics of the same questions. `em` and `qem` compare a generated answer with the letter, `qem`
after HELM's normalisation, as published. That deletes articles, so the right answer "A" becomes
nothing, and any answer of which nothing is left counts as right wherever the key is A. `acc` asks
which of the four letters is likeliest.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import sha256_text
from workflow_scripts.core.items import Item
from workflow_scripts.core.provenance import package_versions
from workflow_scripts.core.records import Metric, TaskFacts, write_record
from workflow_scripts.evaluation.baselines import Floor
from workflow_scripts.evaluation.lighteval_run import LightevalResult, run_lighteval
from workflow_scripts.evaluation.lm_eval_results import MetricWithBaseline, add_group_averages
from workflow_scripts.evaluation.record_parts import build_metric, build_protocol
from workflow_scripts.evaluation.requests import MmluRequest
from workflow_scripts.evaluation.score_cache import ScoreCache, score_cache_path
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import get_hub_folder
from workflow_scripts.hub.record_fields import Recording
from workflow_scripts.settings.mmlu import MmluPrompt

TASK, STUDY = "mmlu_helm", "mmlu"
LETTERS = ("A", "B", "C", "D")
# Nothing is left of it after normalisation, so it can be no worse than "A" under qem.
PUNCTUATION = "."


def evaluate_mmlu(manifest_path: Path, hub: Path, record_path: Path, request: MmluRequest) -> None:
    """Ask a checkpoint all questions and write the record and its items."""
    recording = Recording()
    loaded = load_model(manifest_path, **request.compute.loading)
    harness_version = package_versions()["lighteval"]
    scored_items = ScoreCache.beside(
        record_path,
        loaded,
        harness=f"lighteval {harness_version}",
        batch_size=request.compute.batch_size,
        seed=request.seed,
    )
    configs = subject_configs(request.prompt)
    with scored_items:
        run = run_lighteval(loaded, manifest_path.parent, hub, configs, request, scored_items)
    (dataset,) = run.datasets.values()
    first = configs[0]
    write_record(
        record_path,
        items_of(run),
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
            attention=run.attention,
            engine=run.engine,
            max_items=request.max_items_per_subject,
            generation={
                "max_new_tokens": first.generation_size,
                "until": list(first.stop_sequence),
                "do_sample": False,
            },
        ),
        metrics=metrics_of(run, configs),
        **recording.parts(request, loaded, run.tokens),
    )


def published_prompt(line: dict[str, Any], task_name: str | None = None) -> Any:
    """Format a question as lighteval 0.2 to 0.10 did, with one blank line behind the instruction.

    Later versions put two more line breaks between the instruction, which ends with two, and the examples.
    """
    from lighteval.tasks.tasks.mmlu import mmlu_prompt

    doc = mmlu_prompt(line, task_name)
    doc.instruction = doc.instruction.rstrip("\n")
    return doc


def subject_configs(prompt: MmluPrompt) -> list[Any]:
    """List lighteval's tasks of all subjects, in its order, with qem and acc beside their em."""
    from lighteval.metrics.metrics import Metrics
    from lighteval.metrics.metrics_sample import ExactMatches
    from lighteval.metrics.normalizations import helm_normalizer
    from lighteval.metrics.utils.metric_utils import SampleLevelMetric
    from lighteval.tasks.requests import SamplingMethod
    from lighteval.tasks.tasks.mmlu import TASKS_TABLE

    # As lighteval had it until it dropped the metric.
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
        changes["prompt_function"] = published_prompt
    return [replace(config, **changes) for config in TASKS_TABLE]


def get_subject(task: str) -> str:
    return task.removeprefix("mmlu:")


def metrics_of(run: LightevalResult, configs: list[Any]) -> tuple[Metric, ...]:
    """Compute the scores of each subject and of all questions, the mean over the subjects, and how it went."""
    measured = []
    for config in configs:
        answers, results = run.answered[config.name], run.results[config.name]
        for metric in config.metrics:
            name = metric.metric_name
            measured.append(
                MetricWithBaseline(
                    task=get_subject(config.name),
                    name=name,
                    value=float(results[name]),
                    stderr=results.get(f"{name}_stderr"),
                    n=len(answers),
                    floor=floor(metric, [answer.doc for answer in answers]),
                )
            )
    answers = [answer for answers in run.answered.values() for answer in answers]
    texts = [answer.text.strip() for answer in answers]
    shares = {
        "format_met": [text in LETTERS for text in texts],
        "empty_answers": [not text for text in texts],
        "truncated_prompts": [answer.truncated for answer in answers],
    }
    return add_group_averages(measured) + tuple(
        build_metric(name, float(np.mean(values)), len(answers)) for name, values in shares.items()
    )


def floor(metric: Any, docs: list[Any]) -> Floor:
    """Compute what each fixed answer scores on these questions under lighteval's own metric."""
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import SamplingMethod

    if metric.category == SamplingMethod.LOGPROBS:
        responses = {
            letter: ModelResponse(logprobs=[0.0 if other == letter else -1e9 for other in LETTERS])
            for letter in LETTERS
        }
    else:
        responses = {text: ModelResponse(text=[text]) for text in (*LETTERS, PUNCTUATION)}
    scores = {}
    for text, response in responses.items():
        values = [metric.compute_sample(doc=doc, model_response=response) for doc in docs]
        scores[text] = [value[metric.metric_name] for value in values]
    chance = np.mean([scores[letter] for letter in LETTERS])
    return Floor({text: float(np.mean(row)) for text, row in scores.items()}, float(chance))


def items_of(run: LightevalResult) -> list[Item]:
    return [
        Item(
            item=f"{get_subject(task)}/{answer.doc.id}",
            subset=get_subject(task),
            prompt_sha256=sha256_text(answer.prompt),
            gold=LETTERS[answer.doc.gold_index],
            prediction=answer.text.strip(),
            correct=answer.scores["em"] == 1.0,
            scores=answer.scores,
            loglikelihoods=answer.loglikelihoods,
            text=answer.text,
            format_met=answer.text.strip() in LETTERS,
        )
        for task, answers in run.answered.items()
        for answer in answers
    ]


def main(model: Path, data: list[Path], record: Path, request: dict[str, Any]) -> None:
    evaluate_mmlu(model, get_hub_folder(data[0]), record, MmluRequest.of(request))
    score_cache_path(record).unlink(missing_ok=True)


if "snakemake" in globals():
    run_job(main, snakemake)
