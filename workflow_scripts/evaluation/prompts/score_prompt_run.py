"""Score stored outputs: read each answer, judge it, and count. Runs no model."""

from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.items import Item, read_items
from workflow_scripts.core.records import Metric, Record, read_complete_record, write_record
from workflow_scripts.evaluation.baselines import Floor
from workflow_scripts.evaluation.lm_eval_results import (
    NO_FLOOR,
    MetricWithBaseline,
    add_group_averages,
)
from workflow_scripts.evaluation.prompts.parsers import PARSERS, RIGHT
from workflow_scripts.evaluation.prompts.questions import LETTERS
from workflow_scripts.evaluation.prompts.requests import ReadingRequest
from workflow_scripts.settings.prompts.spec import LETTER_PARSERS, Reading


def score_prompt_run(outputs_path: Path, record_path: Path, request: ReadingRequest) -> Record:
    """Score the outputs as the run's file says now and write the record and its items."""
    stored = read_complete_record(outputs_path)
    rows = read_items(outputs_path.with_name(stored.items.file)).to_pylist()
    outputs = [Item(**row | {"scores": dict(row["scores"])}) for row in rows]
    reading = request.to_params()
    whole = stored.request | reading
    generation = stored.protocol.generation | reading
    items = [item_of(output, request.read) for output in outputs]
    fields = {
        name: getattr(stored, name) for name in ("study", "model", "task", "cost", "volatile")
    }
    return write_record(
        record_path,
        items,
        request=whole,
        protocol=stored.protocol.model_copy(update={"generation": generation}),
        metrics=metrics_of(outputs, items, request.read),
        provenance=stored.provenance.model_copy(update={"settings_sha256": sha256_json(whole)}),
        **fields,
    )


def item_of(output: Item, spec: Reading) -> Item:
    """Read and judge one output; an answer that no parser reads is wrong."""
    choices, gold = _question(output)
    text = output.text or ""
    if output.loglikelihoods is not None:
        text = LETTERS[int(np.argmax(output.loglikelihoods))]
    answer = parser = None
    right = False
    for link in spec.answers:
        answer = PARSERS[link.parser](text, choices)
        if answer is not None:
            parser = link.parser
            right = RIGHT[link.right](answer, choices, gold)
            break
    met, strict = None, right
    if spec.format is not None:
        stated = PARSERS[spec.format](text, choices)
        met = stated is not None
        rule = RIGHT["letter" if spec.format in LETTER_PARSERS else "equal"]
        strict = right and stated is not None and rule(stated, choices, gold)
    by_letter = spec.answers[0].parser in LETTER_PARSERS
    return replace(
        output,
        gold=LETTERS[gold] if by_letter else choices[gold],
        prediction=answer,
        correct=right,
        scores={"acc": float(right), "acc_strict": float(strict)},
        format_met=met,
        parser=parser,
        choices=None,
    )


def _question(output: Item) -> tuple[list[str], int]:
    """Return the choices of the question and the index of the right one."""
    return output.choices or [], LETTERS.index(output.gold or "")


def metrics_of(outputs: list[Item], items: list[Item], spec: Reading) -> tuple[Metric, ...]:
    """Compute the scores of each subject and of all questions, and the mean over the subjects."""
    rows = [
        item.scores
        | {"read": item.prediction is not None, "truncated_prompts": output.scores["truncated"]}
        | ({} if spec.format is None else {"format_met": item.format_met})
        for item, output in zip(items, outputs, strict=True)
    ]
    subjects = pd.Series([output.subset for output in outputs])
    measured = []
    for subject, table in pd.DataFrame(rows).astype(float).groupby(subjects):
        baseline = floor([outputs[index] for index in table.index], spec)
        n = len(table)
        for name, column in table.items():
            values = column.to_numpy()
            measured.append(
                MetricWithBaseline(
                    task=subject,
                    name=name,
                    value=float(values.mean()),
                    stderr=float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else None,
                    n=n,
                    floor=baseline if name in ("acc", "acc_strict") else NO_FLOOR,
                )
            )
    return add_group_averages(measured)


def floor(outputs: list[Item], spec: Reading) -> Floor:
    """Compute what always the first, second, ... choice scores, and a choice at random.

    Under the rules of the run itself: where "4" counts in "24", answering anything scores more.
    """
    rules = {link.right for link in spec.answers}
    scores = []
    for output in outputs:
        choices, gold = _question(output)
        row = []
        for letter, text in zip(LETTERS, choices, strict=False):
            answers = {rule: letter if rule == "letter" else text for rule in rules}
            row.append(any(RIGHT[rule](answers[rule], choices, gold) for rule in rules))
        scores.append(row)
    columns = zip(LETTERS, zip_longest(*scores, fillvalue=0.0), strict=False)
    constants = {letter: float(np.mean(column)) for letter, column in columns}
    return Floor(constants, float(np.mean([np.mean(row) for row in scores])))


def main(generations: Path, record: Path, request: dict[str, Any]) -> None:
    score_prompt_run(generations, record, ReadingRequest.of(request))


if "snakemake" in globals():
    run_job(main, snakemake)
