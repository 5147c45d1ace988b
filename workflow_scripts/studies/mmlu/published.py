"""The published MMLU of chunked models beside ours, subject by subject."""

import math
import re
from collections.abc import Iterator

import pandas as pd

from workflow_scripts.render.verdict import GENERATED, verdict
from workflow_scripts.settings.paper import MmluComparison
from workflow_scripts.studies.mmlu.by_subject import MACRO

_SUBJECT = re.compile(r"helm:mmlu:(\w+):5")
_AVERAGE = "_average"  # stands there twice: as `all` too
_PRINTED_TO = 1e-4
_SHOTS = 5


def compare_mmlu(
    published: dict[str, pd.DataFrame], ours: pd.DataFrame | None, settings: MmluComparison
) -> Iterator[dict]:
    """A row for each subject and the macro average of each published table."""
    cells = {}
    if ours is not None:
        ours = ours.fillna({"variant": ""})
        cells = {(r.model + r.variant, r.subject): r for r in ours.itertuples()}
    for source, table in published.items():
        checkpoint = settings.checkpoints.get(source)
        why_not = _why_not(checkpoint, settings)
        for subject, value, stderr in _rows(table):
            cell = cells.get((checkpoint, subject))
            score = None if cell is None else (cell.qem, cell.qem_stderr)
            yield {
                "source": source,
                "of": checkpoint,
                "item": subject,
                "metric": "qem",
                "published": value,
                "published_stderr": stderr,
                "ours": score and score[0],
                "ours_stderr": score and score[1],
                "n": None if cell is None else cell.n,
                **verdict(value, stderr, *(score or (None, None)), why_not, printed_to=_PRINTED_TO),
            }


def _rows(table: pd.DataFrame) -> list[tuple[str, float, float]]:
    """Subject, value, standard error. That of the average follows from the subjects', which are printed."""
    found = {}
    for row in table.itertuples():
        match = _SUBJECT.fullmatch(row.task)
        if match and match[1] != _AVERAGE:
            found[match[1]] = (row.value, row.stderr)
    (average,) = table.loc[table["task"] == "all", "value"]
    error = math.sqrt(sum(stderr**2 for _, stderr in found.values())) / len(found)
    return [(MACRO, average, error), *((name, *cell) for name, cell in sorted(found.items()))]


def _why_not(checkpoint: str | None, settings: MmluComparison) -> str | None:
    if settings.source == "miniature":
        return GENERATED
    if checkpoint is None:
        return "no checkpoint of this variant is in the config"
    if settings.shots != _SHOTS:
        return f"asked with {settings.shots} examples here, with {_SHOTS} there"
    if (asked := settings.max_items_per_subject) is not None:
        return f"at most {asked} questions of a subject were asked here, all of them there"
    if recipe := settings.recipes.get(checkpoint):
        return f"trained by the recipe {recipe} here, which is not the published one"
    return None
