"""Write the table that compares all published numbers with ours."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.paper.protocol_differences import withhold_verdicts
from workflow_scripts.render.tables import read_table, write_table
from workflow_scripts.render.verdict import (
    DIFFERENCE_Z,
    GENERATED_WORLD,
    MAX_FALSE_ALARM_RATE,
    judge_numbers,
)
from workflow_scripts.studies.harmony.published import compare_cells, compare_harmony
from workflow_scripts.studies.mmlu.published import compare_mmlu
from workflow_scripts.studies.prompts.published import compare_prompts
from workflow_scripts.studies.ranking.errors import estimate_published_noise

NOTE = (
    "Each published number beside ours, as a fraction. z: difference over its standard error; below"
    f" {DIFFERENCE_Z:.0f} in size no difference is shown, and at most {MAX_FALSE_ALARM_RATE:.0%} of equal numbers"
    " exceed it by chance."
    " Agrees: the 90% interval of the difference is within the margin, {:g} points; other numbers without a shown"
    " difference are inconclusive. Would show: the smallest difference detectable with a power of 80%. The standard"
    " error of a fine-tuned score is estimated from the authors' two releases; elsewhere it has the sampling of items"
    " in both runs, which is conservative since the items are the same. Where none was published, ours stands for both."
    " Other protocol: the difference, and what differs (table protocol_differences). Numbers that were not measured"
    " here are in the CSV alone."
)


_SHOWN = {
    "Published in": "{source}",
    "Of": "{of}",
    "What": "{item}, {metric}",
    "Published": "{published:.3g} ± {published_stderr:.2g}",
    "Ours": "{ours:.3g} ± {ours_stderr:.2g}",
    "Difference": "{difference:+.3f}",
    "z": "{z:+.1f}",
    "Would show": "{smallest:.3f}",
    "Verdict": "{verdict}",
    "Because": "{because}",
}


def main(
    published: list[Path],
    ours: list[Path],
    differences: Path,
    table: list[Path],
    comparison: dict[str, Any],
    margin: float,
) -> None:
    """Compare each published number with ours; `ours` are our tables that exist.

    `comparison` has the source of models and datasets, the known models, and our checkpoints and prompt runs whose
    scores were published.
    """
    mmlu_tables = {path.stem: pd.read_csv(path) for path in published}
    leaderboard = mmlu_tables.pop("harmony_leaderboard")
    cells = mmlu_tables.pop("harmony_cells")
    runs = mmlu_tables.pop("prompt_runs")
    our_tables = {path.stem: read_table(path) for path in ours}
    our_leaderboard = our_tables.get("harmony_leaderboard")
    noise = estimate_published_noise(leaderboard, cells, comparison["models"])
    rows = pd.DataFrame(
        [
            *compare_mmlu(mmlu_tables, our_tables.get("mmlu_by_subject"), comparison["mmlu"]),
            *compare_prompts(runs, our_tables.get("prompt_runs"), **comparison["prompts"]),
            *compare_harmony(leaderboard, our_leaderboard, noise),
            *compare_cells(cells, our_leaderboard, noise),
        ]
    )
    if comparison["source"] == "miniature":
        rows["because"] = GENERATED_WORLD
    results = withhold_verdicts(judge_numbers(rows, margin), read_table(differences))
    note = NOTE.format(100 * margin)
    title = "Reproduction of published numbers"
    measured = results[results["ours"].notna()]
    write_table(results, table, title=title, note=note, shown=_SHOWN, rows=measured)


if "snakemake" in globals():
    run_job(main, snakemake)
