"""Score stored outputs of a prompt run without a model: parse and score each answer, and aggregate."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import hash_json
from workflow_scripts.core.items import Item, read_items
from workflow_scripts.core.records import Metric, read_complete_record, write_record
from workflow_scripts.evaluation.baselines import NO_BASELINE, Baseline
from workflow_scripts.evaluation.group_metrics import (
    MetricWithBaseline,
    add_group_averages,
)
from workflow_scripts.evaluation.prompts.parsers import PARSERS, SCORING_RULES
from workflow_scripts.evaluation.prompts.questions import LETTERS
from workflow_scripts.settings.prompts.spec import LETTER_PARSERS, AnswerParsing


@validate_call
def score_prompt_run(generations: Path, record: Path, read: AnswerParsing) -> None:
    """Score the outputs with the run's current parsers and write the record and its items."""
    stored = read_complete_record(generations)
    rows = read_items(generations).to_pylist()
    outputs = [Item(**row | {"scores": dict(row["scores"])}) for row in rows]
    items = [score_output(output, read) for output in outputs]
    reading = {"read": read.model_dump(mode="json")}
    request = stored.request | reading
    generation = stored.protocol.generation | reading
    write_record(
        record,
        items,
        study=stored.study,
        model=stored.model,
        task=stored.task,
        request=request,
        protocol=stored.protocol.model_copy(update={"generation": generation}),
        metrics=compute_metrics(outputs, items, read),
        provenance=stored.provenance.model_copy(update={"settings_sha256": hash_json(request)}),
        cost=stored.cost,
        volatile=stored.volatile,
    )


def score_output(output: Item, spec: AnswerParsing) -> Item:
    """Parse and score one output; an output that no parser can read is wrong."""
    choices, gold = _get_choices(output)
    text = output.text or ""
    if output.loglikelihoods is not None:
        text = LETTERS[int(np.argmax(output.loglikelihoods))]
    answer = parser = None
    correct = False
    for link in spec.answers:
        answer = PARSERS[link.parser](text, choices)
        if answer is not None:
            parser = link.parser
            correct = SCORING_RULES[link.right](answer, choices, gold)
            break
    # Strict scoring also requires that the parser of the requested format reads the correct answer.
    format_met, strictly_correct = None, correct
    if spec.format is not None:
        strict_answer = PARSERS[spec.format](text, choices)
        format_met = strict_answer is not None
        rule = SCORING_RULES["letter" if spec.format in LETTER_PARSERS else "equal"]
        strictly_correct = (
            correct and strict_answer is not None and rule(strict_answer, choices, gold)
        )
    return replace(
        output,
        gold=output.gold if spec.answers[0].parser in LETTER_PARSERS else choices[gold],
        prediction=answer,
        correct=correct,
        scores={"acc": float(correct), "acc_strict": float(strictly_correct)},
        format_met=format_met,
        parser=parser,
        choices=None,
    )


def _get_choices(output: Item) -> tuple[list[str], int]:
    """Return the choices of the question and the index of the correct one."""
    return output.choices or [], LETTERS.index(output.gold or "")


def compute_metrics(
    outputs: list[Item], items: list[Item], spec: AnswerParsing
) -> tuple[Metric, ...]:
    """Compute the metrics of each subject, and the micro and macro averages."""
    table = pd.DataFrame([item.scores for item in items])
    table["read"] = [item.prediction is not None for item in items]
    table["truncated_prompts"] = [output.scores["truncated"] for output in outputs]
    if spec.format is not None:
        table["format_met"] = [item.format_met for item in items]
    metrics = []
    for subject, rows in table.astype(float).groupby([output.subset for output in outputs]):
        baseline = compute_baseline([outputs[index] for index in rows.index], spec)
        n = len(rows)
        for name, column in rows.items():
            values = column.to_numpy()
            metric = MetricWithBaseline(
                task=subject,
                name=name,
                value=float(values.mean()),
                stderr=float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else None,
                n=n,
                baseline=baseline if name in ("acc", "acc_strict") else NO_BASELINE,
            )
            metrics.append(metric)
    return add_group_averages(metrics)


def compute_baseline(outputs: list[Item], spec: AnswerParsing) -> Baseline:
    """Compute the scores of constant choices and of a random choice under the run's own rules.

    A lenient rule, which accepts "4" in "24", raises the baseline too.
    """
    rules = {link.right for link in spec.answers}
    scores = []
    for output in outputs:
        choices, gold = _get_choices(output)
        row = {}
        for letter, text in zip(LETTERS, choices, strict=False):
            answers = {rule: letter if rule == "letter" else text for rule in rules}
            row[letter] = any(SCORING_RULES[rule](answers[rule], choices, gold) for rule in rules)
        scores.append(row)
    table = pd.DataFrame(scores, dtype=float)  # NaN where a question has fewer choices
    return Baseline(table.fillna(0.0).mean().to_dict(), float(table.mean(axis=1).mean()))


if "snakemake" in globals():
    run_job(score_prompt_run, snakemake)
