"""From stored outputs to a record: read each answer, judge it, and count. Runs no model."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.items import Item, read_items
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.core.records import Metric, Record, whole_record, write_record
from workflow_scripts.evaluation.floors import Floor
from workflow_scripts.evaluation.outcome import NO_FLOOR, MetricAndFloor, with_averages
from workflow_scripts.evaluation.prompts.parsers import PARSERS, RIGHT
from workflow_scripts.evaluation.prompts.questions import LETTERS
from workflow_scripts.evaluation.prompts.requests import ReadingRequest
from workflow_scripts.settings.prompts.spec import LETTER_PARSERS, Reading


def score_stored(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Score the stored outputs of a run, with the items beside the record."""
    (run,) = inputs["run"]
    score_prompt_run(run, outputs["record"], ReadingRequest.of(request))


def score_prompt_run(outputs_path: Path, record_path: Path, request: ReadingRequest) -> Record:
    """Score the outputs as the run's file says now and write the record and its items."""
    asked = whole_record(outputs_path)
    rows = read_items(outputs_path.with_name(asked.items.file)).to_pylist()
    outputs = [Item(**row | {"scores": dict(row["scores"])}) for row in rows]
    reading = request.as_params()
    whole = asked.request | reading
    generation = asked.protocol.generation | reading
    fields = {name: getattr(asked, name) for name in ("study", "model", "task", "cost", "volatile")}
    return write_record(
        record_path,
        [item_of(output, request.read) for output in outputs],
        request=whole,
        protocol=asked.protocol.model_copy(update={"generation": generation}),
        metrics=metrics_of(outputs, request.read),
        provenance=asked.provenance.model_copy(update={"settings_sha256": sha256_json(whole)}),
        **fields,
    )


def item_of(output: Item, spec: Reading) -> Item:
    """Read and judge one output."""
    likelihoods, (choices, gold) = output.loglikelihoods, _question(output)
    text = LETTERS[int(np.argmax(likelihoods))] if likelihoods is not None else output.text or ""
    answer, parser, right = read_answer(text, choices, gold, spec)
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


def read_answer(
    text: str, choices: Sequence[str], gold: int, spec: Reading
) -> tuple[str | None, str | None, bool]:
    """Return the answer, the parser that read it, and whether it is right; an answer not read is wrong."""
    for link in spec.answers:
        answer = PARSERS[link.parser](text, choices)
        if answer is not None:
            return answer, link.parser, RIGHT[link.right](answer, choices, gold)
    return None, None, False


def metrics_of(outputs: list[Item], spec: Reading) -> tuple[Metric, ...]:
    """Compute the scores of each subject and of all questions, and the mean over the subjects."""
    by_subject: dict[str, list[Item]] = {}
    for output in outputs:
        by_subject.setdefault(output.subset or "", []).append(output)
    measured = []
    for subject, members in sorted(by_subject.items()):
        items = [item_of(output, spec) for output in members]
        baseline = floor(members, spec)
        columns = {
            "acc": ([item.scores["acc"] for item in items], baseline),
            "acc_strict": ([item.scores["acc_strict"] for item in items], baseline),
            "read": ([item.prediction is not None for item in items], NO_FLOOR),
            "truncated_prompts": ([output.scores["truncated"] for output in members], NO_FLOOR),
        }
        if spec.format is not None:
            columns["format_met"] = ([item.format_met for item in items], NO_FLOOR)
        for name, (column, column_floor) in columns.items():
            values, n = np.array(column, dtype=float), len(members)
            stderr = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else None
            measured.append(
                MetricAndFloor(subject, name, float(values.mean()), stderr, n, column_floor)
            )
    return with_averages(measured)


def floor(outputs: list[Item], spec: Reading) -> Floor:
    """Compute what always the first, second, ... choice scores, and a choice at random.

    Under the rules of the run itself: where "4" counts in "24", answering anything scores more.
    """
    rules = {link.right for link in spec.answers}

    def score_choices(output: Item) -> list[float]:
        choices, gold = _question(output)
        answers = {"letter": LETTERS[: len(choices)]}
        return [
            float(any(RIGHT[rule](answers.get(rule, choices)[at], choices, gold) for rule in rules))
            for at in range(len(choices))
        ]

    scores = [score_choices(output) for output in outputs]
    columns = zip_longest(*scores, fillvalue=0.0)
    constants = {
        letter: float(np.mean(column)) for letter, column in zip(LETTERS, columns, strict=False)
    }
    return Floor(constants, float(np.mean([np.mean(row) for row in scores])))
