"""The published prompt runs beside ours."""

from collections.abc import Iterator

import pandas as pd

from workflow_scripts.render.verdict import GENERATED, NOT_MEASURED, verdict
from workflow_scripts.stats.shares import share_error
from workflow_scripts.studies.prompts.requests import PromptComparison

SOURCE = "prompt_runs"
_ALL_QUESTIONS = 14_042
# Run 4 was scored on its first questions only.
_QUESTIONS = {"4": 285}
_PRINTED_TO = 1e-3


def compare_prompts(
    published: pd.DataFrame, ours: pd.DataFrame | None, settings: PromptComparison
) -> Iterator[dict]:
    """A row for each published number; a run that broke was not measured."""
    cells = {}
    if ours is not None:
        measured = ours[ours["n"].notna()]
        cells = {(r.model + r.variant, r.run): r for r in measured.itertuples()}
    for row in published.itertuples():
        value = float(row.percent) / 100
        run = settings.runs.get(str(row.run))
        questions = _QUESTIONS.get(str(row.run), _ALL_QUESTIONS)
        cell = cells.get((settings.checkpoint, run))
        score = None
        if cell is not None:
            score = (getattr(cell, row.metric), getattr(cell, f"{row.metric}_stderr"))
        # The mean of the subjects was printed without them: of its error nothing is known.
        stderr = float(share_error(value, questions)) if row.metric == "micro" else None
        why_not = _why_not(run, None if cell is None else cell.n, questions, settings)
        ours, error = score or (None, None)
        yield {
            "source": SOURCE,
            "of": settings.checkpoint,
            "item": f"run {row.run}",
            "metric": row.metric,
            "published": value,
            "published_stderr": stderr,
            "ours": ours,
            "ours_stderr": error,
            "n": None if cell is None else cell.n,
            **verdict(value, stderr, ours, error, why_not, printed_to=_PRINTED_TO),
        }


def _why_not(
    run: str | None, n: int | None, questions: int, settings: PromptComparison
) -> str | None:
    if settings.source == "miniature":
        return GENERATED
    if settings.checkpoint is None:
        return "the published model is not asked here"
    if run is None or n is None:
        return NOT_MEASURED
    if settings.max_items_per_subject is not None or n != questions:
        return f"asked {n:,.0f} questions here, {questions:,} there"
    return None
