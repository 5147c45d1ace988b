"""Each difference between a run's protocol and the published one, from the run's own records."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.records import Record, read_without_items
from workflow_scripts.core.training_record import read_training_record
from workflow_scripts.paper.protocols.ours import (
    NOT_RECORDED,
    Cell,
    grid_cell,
    mmlu_cell,
    prompt_cell,
    suite_cell,
)
from workflow_scripts.paper.protocols.plans import latency_cell, perplexity_cell
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers
from workflow_scripts.scores.published_leaderboard import TEST_ITEMS
from workflow_scripts.scores.published_protocols import (
    NO,
    YES,
    PublishedProtocol,
    in_words,
    read_protocols,
)
from workflow_scripts.studies.ranking.frame import DIRECT, TRAINED

ON_THE_LEADERBOARD = {
    *("arc_challenge", "hellaswag", "truthfulqa_mc2", "mmlu", "winogrande", "gsm8k"),
}
NOTE = (
    "What the records of this run say of its protocol, where the published one is known to be another, or not"
    " known. Cells: measurements of this run that it concerns; the CSV names each. Decides: whether a published"
    " number that it touches gets no verdict, but 'other protocol' in the table reproduction. What does not"
    " decide says why, and so does what is not measured. What is not listed is as published."
)
_COLUMNS = ["study", "of", "item", "protocol", "what", "published", "ours", "decides", "because"]
_COLUMNS += ["known_from"]


def compute_differences(
    cells: Iterable[tuple[Cell, dict[str, Any]]], protocols: dict[str, PublishedProtocol]
) -> pd.DataFrame:
    """Compute a row for each difference of each cell."""
    rows = [row for cell, ours in cells for row in _compare_cell(cell, ours, protocols[cell.study])]
    return pd.DataFrame(rows, columns=_COLUMNS).fillna("").drop_duplicates(ignore_index=True)


def _compare_cell(cell: Cell, ours: dict[str, Any], protocol: PublishedProtocol) -> Iterator[dict]:
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


def read_cells(
    records: Iterable[Path],
    trainings: Iterable[Path] = (),
    checkpoints: Collection[str] = (),
    runs: Mapping[str, str] | None = None,
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Read the protocol of each cell that has a published number, from its record.

    `checkpoints` are those of MMLU, `runs` has what the published prompt runs call ours.
    """
    names = runs or {}
    stages = {one.trained.id: one for one in map(read_training_record, trainings)}
    for path in records:
        record = read_without_items(path)
        if not isinstance(record, Record):  # a broken cell has no score that could be compared
            continue
        task = record.task.name
        match record.study:
            case "harmony" if record.protocol.name in (DIRECT, TRAINED) and task in TEST_ITEMS:
                yield grid_cell(record)
            case "mmlu" if record.model.id in checkpoints:
                yield mmlu_cell(record, stages)
            case "chunking":
                yield perplexity_cell(record)
            case "latency":
                yield latency_cell(record)
            case "prompts" if task in names:
                yield prompt_cell(record, names[task])
            case "suite" if task in ON_THE_LEADERBOARD:
                yield suite_cell(record)


_STUDIES = {
    "harmony": "Train before test",
    "mmlu": "MMLU of chunked models",
    "chunking": "Perplexity of chunk plans",
    "latency": "Time of chunk plans",
    "prompts": "Prompt runs",
    "suite": "Leaderboard",
}


def format_columns(table: pd.DataFrame) -> ShownColumns:
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


def main(
    records: list[Path],
    trainings: list[Path],
    protocols: Path,
    table: list[Path],
    checkpoints: Collection[str],
    runs: Mapping[str, str],
) -> None:
    cells = read_cells(records, trainings, checkpoints, runs)
    results = compute_differences(cells, read_protocols(protocols))
    title = "Where this run's protocol is not the published one"
    write_table(results, table, title=title, note=NOTE, shown=format_columns(results))


if "snakemake" in globals():
    run_job(main, snakemake)
