"""From stored outputs to a record: read each answer, judge it, and count. Runs no model."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.items import Item
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.core.records import Metric, Record, write_record
from workflow_scripts.evaluation.floors import Floor
from workflow_scripts.evaluation.outcome import NO_FLOOR, MetricAndFloor, with_averages
from workflow_scripts.evaluation.prompts.outputs import read_outputs
from workflow_scripts.evaluation.prompts.parsers import PARSERS, RIGHT
from workflow_scripts.evaluation.prompts.questions import LETTERS
from workflow_scripts.evaluation.prompts.requests import ReadingRequest
from workflow_scripts.settings.prompts.spec import LETTER_PARSERS, Reading

STUDY = "prompts"


def score_stored(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """From the stored outputs of a run to its record, with the items beside it."""
    (run,) = inputs["run"]
    score_prompt_run(run, outputs["record"], ReadingRequest.of(request))


def score_prompt_run(outputs_path: Path, record_path: Path, request: ReadingRequest) -> Record:
    """Score the outputs as the run's file says now and write the record and its items."""
    facts, outputs = read_outputs(outputs_path)
    reading = request.as_params()
    whole = facts.request | reading
    return write_record(
        record_path,
        [item_of(output, request.read) for output in outputs],
        study=STUDY,
        request=whole,
        model=facts.model,
        task=facts.task,
        protocol=facts.protocol.model_copy(
            update={"generation": facts.protocol.generation | reading}
        ),
        metrics=metrics_of(outputs, request.read),
        cost=facts.cost,
        provenance=facts.provenance.model_copy(update={"settings_sha256": sha256_json(whole)}),
        volatile=facts.volatile,
    )


def item_of(output: Item, spec: Reading) -> Item:
    """What was made of one output."""
    lls, (choices, gold) = output.loglikelihoods, _question(output)
    text = likeliest(lls) if lls is not None else output.text or ""
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
    """The choices of its question, which every output has, and the number of the right one."""
    return output.choices or [], LETTERS.index(output.gold or "")


def read_answer(
    text: str, choices: Sequence[str], gold: int, spec: Reading
) -> tuple[str | None, str | None, bool]:
    """The answer, the parser that read it, and whether it is right; an answer not read is wrong."""
    for link in spec.answers:
        answer = PARSERS[link.parser](text, choices)
        if answer is not None:
            return answer, link.parser, RIGHT[link.right](answer, choices, gold)
    return None, None, False


def likeliest(loglikelihoods: Sequence[float]) -> str:
    return LETTERS[max(range(len(loglikelihoods)), key=loglikelihoods.__getitem__)]


def metrics_of(outputs: list[Item], spec: Reading) -> tuple[Metric, ...]:
    """The scores of each subject and of all questions, and the mean over the subjects."""
    by_subject: dict[str, list[Item]] = {}
    for output in outputs:
        by_subject.setdefault(output.subset or "", []).append(output)
    measured = []
    for subject, of_it in sorted(by_subject.items()):
        items = [item_of(output, spec) for output in of_it]
        below = floor(of_it, spec)
        columns = {
            "acc": ([item.scores["acc"] for item in items], below),
            "acc_strict": ([item.scores["acc_strict"] for item in items], below),
            "read": ([item.prediction is not None for item in items], NO_FLOOR),
            "truncated_prompts": ([output.scores["truncated"] for output in of_it], NO_FLOOR),
        }
        if spec.format is not None:
            columns["format_met"] = ([item.format_met for item in items], NO_FLOOR)
        measured += [
            _measured(subject, name, np.array(values, dtype=float), of_metric)
            for name, (values, of_metric) in columns.items()
        ]
    return with_averages(measured)


def _measured(subject: str, name: str, values: np.ndarray, floor: Floor) -> MetricAndFloor:
    n = len(values)
    stderr = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else None
    return MetricAndFloor(subject, name, float(values.mean()), stderr, n, floor)


def floor(outputs: list[Item], spec: Reading) -> Floor:
    """What always the first, second, ... choice scores, and a choice at random.

    Under the rules of the run itself: where "4" counts in "24", answering anything scores more.
    """

    rules = {link.right for link in spec.answers}

    def scores(output: Item) -> list[float]:
        choices, gold = _question(output)
        return [
            float(
                any(
                    RIGHT[rule](LETTERS[at] if rule == "letter" else choice, choices, gold)
                    for rule in rules
                )
            )
            for at, choice in enumerate(choices)
        ]

    found = [scores(output) for output in outputs]
    constants = {
        LETTERS[at]: float(np.mean([one[at] if at < len(one) else 0.0 for one in found]))
        for at in range(max(map(len, found)))
    }
    return Floor(constants, float(np.mean([np.mean(one) for one in found])))
