"""Compare the published accuracies of prompt runs with ours."""

from collections.abc import Iterator, Mapping

import pandas as pd

from workflow_scripts.render.frames import index_checkpoints
from workflow_scripts.stats.proportions import compute_fraction_stderr

_QUESTIONS = 14_042
_QUESTIONS_OF_RUN_4 = 285  # run 4 scored only these
_PRINTED_TO = 1e-3  # resolution of the published accuracies, as fractions


def compare_prompts(
    published: pd.DataFrame,
    ours: pd.DataFrame | None,
    checkpoint: str | None,
    runs: Mapping[str, str],
) -> Iterator[dict]:
    """Compare each published number with ours; a failed run counts as not measured.

    `checkpoint` is our counterpart of the published model, `runs` maps each published run to ours.
    """
    measured = index_checkpoints(ours, "run")
    for line in published.itertuples():
        value = line.percent / 100
        questions = _QUESTIONS_OF_RUN_4 if str(line.run) == "4" else _QUESTIONS
        row = measured.get((checkpoint, runs.get(str(line.run))), {})
        because = None
        if row.get("n") not in (None, questions):
            because = f"{row['n']:,.0f} questions here, {questions:,} in the published run"
        # The subjects were not printed, so the mean over subjects has no standard error.
        stderr = (
            float(compute_fraction_stderr(value, questions)) if line.metric == "micro" else None
        )
        yield {
            "source": "prompt_runs",
            "of": checkpoint,
            "item": f"run {line.run}",
            "metric": line.metric,
            "n": row.get("n"),
            "published": value,
            "published_stderr": stderr,
            "ours": row.get(line.metric),
            "ours_stderr": row.get(f"{line.metric}_stderr"),
            "printed_to": _PRINTED_TO,
            "because": because,
        }
