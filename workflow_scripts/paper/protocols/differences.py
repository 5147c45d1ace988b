"""Each difference between a run's protocol and the published one, from the run's own records."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.records import Record, read_without_items
from workflow_scripts.core.training_record import TrainingRecord, read_training_record
from workflow_scripts.paper.protocols.ours import (
    NOT_RECORDED,
    Cell,
    grid_cell,
    mmlu_cell,
    prompt_cell,
    suite_cell,
)
from workflow_scripts.paper.protocols.plans import latency_cell, perplexity_cell
from workflow_scripts.paper.requests import PublishedCells
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers
from workflow_scripts.scores.published_leaderboard import TEST_ITEMS
from workflow_scripts.scores.published_protocols import (
    NO,
    YES,
    PublishedProtocol,
    in_words,
    read_protocols,
)
from workflow_scripts.settings.suite import OPEN_LLM_LEADERBOARD
from workflow_scripts.studies.ranking.frame import DIRECT, TRAINED

ON_THE_LEADERBOARD = {one.task for one in OPEN_LLM_LEADERBOARD}
NOTE = (
    "What the records of this run say of its protocol, where the published one is known to be another, or not"
    " known. Cells: measurements of this run that it concerns; the CSV names each. Decides: whether a published"
    " number that it touches gets no verdict, but 'other protocol' in the table reproduction. What does not"
    " decide says why, and so does what is not measured. What is not listed is as published."
)
COLUMNS = columns(("text", "study of item protocol what published ours decides because known_from"))


def differences(
    cells: Iterable[tuple[Cell, dict[str, Any]]], protocols: dict[str, PublishedProtocol]
) -> pd.DataFrame:
    """A row for each difference of each cell."""
    rows = [row for cell, ours in cells for row in _of_cell(cell, ours, protocols[cell.study])]
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)).drop_duplicates())


def _of_cell(cell: Cell, ours: dict[str, Any], protocol: PublishedProtocol) -> Iterator[dict]:
    about = {"study": cell.study, "of": cell.of, "item": cell.item, "protocol": cell.protocol}
    for fact in protocol.facts:
        if fact.after_training and cell.protocol != TRAINED:
            continue
        # Of several things of a kind, what an older record does not speak of is not taken for the published.
        of_this_kind = fact.each and any(what.startswith(f"{fact.what}: ") for what in ours)
        for what, published in fact.of(cell.of, cell.item):
            value = ours.get(what, NOT_RECORDED if of_this_kind else published)
            if fact.not_measured:
                value = f"not measured: {fact.not_measured}"
            if value == published:
                continue
            yield about | {
                "what": what,
                "published": in_words(published),
                "ours": in_words(value),
                "decides": YES if fact.decides else NO,
                "because": fact.because,
                "known_from": fact.known_from,
            }


def _cells(inputs: Inputs, request: PublishedCells) -> Iterator[tuple[Cell, dict[str, Any]]]:
    for record in _records(inputs, "harmony"):
        if record.protocol.name in (DIRECT, TRAINED) and record.task.name in TEST_ITEMS:
            yield grid_cell(record)
    trainings: dict[str, TrainingRecord] = {}
    for path in inputs.get("trainings", []):
        training = read_training_record(path)
        trainings[training.trained.id] = training
    for record in _records(inputs, "mmlu"):
        if record.model.id in request.checkpoints:
            yield mmlu_cell(record, trainings)
    for record in _records(inputs, "chunking"):
        yield perplexity_cell(record)
    for record in _records(inputs, "latency"):
        yield latency_cell(record)
    for record in _records(inputs, "prompts"):
        if record.task.name in request.runs:
            yield prompt_cell(record, request.runs[record.task.name])
    for record in _records(inputs, "suite"):
        if record.task.name in ON_THE_LEADERBOARD:
            yield suite_cell(record)


def _records(inputs: Inputs, study: str) -> Iterator[Record]:
    for path in inputs.get(study, []):
        record = read_without_items(Path(path))
        if isinstance(record, Record):  # a broken cell has no score that could be compared
            yield record


def _make(inputs: Inputs, request: PublishedCells) -> pd.DataFrame:
    return differences(_cells(inputs, request), read_protocols(inputs.one("protocols")))


_STUDIES = {
    "harmony": "Train before test",
    "mmlu": "MMLU of chunked models",
    "chunking": "Perplexity of chunk plans",
    "latency": "Time of chunk plans",
    "prompts": "Prompt runs",
    "suite": "Leaderboard",
}


def _show(table: pd.DataFrame, _: PublishedCells) -> ShownColumns:
    named = ["study", "what", "published", "ours", "decides", "because", "known_from"]
    once = table.groupby(named, sort=False).size().rename("cells").reset_index()
    does = once["decides"].where(once["decides"] == YES, NO + ": " + once["because"])
    return {
        "Of": once["study"].map(_STUDIES),
        "What": once["what"].str.replace("_", " "),
        "Published": once["published"],
        "Ours": once["ours"],
        "Cells": numbers(once["cells"], ",d"),
        "Decides": does,
        "Known from": once["known_from"],
    }


TABLE = Table(
    name="protocol_differences",
    title="Where this run's protocol is not the published one",
    note=NOTE,
    columns=COLUMNS,
    asks=PublishedCells,
    make=_make,
    show=_show,
)
