"""Compare the published prompt runs with ours."""

from collections.abc import Iterator

import pandas as pd

from workflow_scripts.render.frames import Cells, cells, get_checkpoint_name
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
    """Compare each published number; a run that broke was not measured."""
    rows = [] if ours is None else cells(ours[ours["n"].notna()])
    measured: dict[tuple, Cells] = {(get_checkpoint_name(row), row["run"]): row for row in rows}
    for line in published.itertuples():
        value, number = float(line.percent) / 100, str(line.run)
        questions = _QUESTIONS.get(number, _ALL_QUESTIONS)
        row = measured.get((settings.checkpoint, settings.runs.get(number)), {})
        score = row.get(line.metric), row.get(f"{line.metric}_stderr")
        # The mean of the subjects was printed without them: of its error nothing is known.
        stderr = float(share_error(value, questions)) if line.metric == "micro" else None
        why_not = _why_not(row.get("n"), questions, settings)
        yield {
            "source": SOURCE,
            "of": settings.checkpoint,
            "item": f"run {line.run}",
            "metric": line.metric,
            "published": value,
            "published_stderr": stderr,
            "ours": score[0],
            "ours_stderr": score[1],
            "n": row.get("n"),
            **verdict(value, stderr, *score, why_not, printed_to=_PRINTED_TO),
        }


def _why_not(n: int | None, questions: int, settings: PromptComparison) -> str | None:
    if settings.source == "miniature":
        return GENERATED
    if settings.checkpoint is None:
        return "the published model is not asked here"
    if n is None:
        return NOT_MEASURED
    if settings.max_items_per_subject is not None or n != questions:
        return f"asked {n:,.0f} questions here, {questions:,} there"
    return None
