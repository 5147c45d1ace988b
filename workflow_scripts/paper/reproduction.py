"""Write the table that compares all published numbers with ours, and a shorter form for readers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.paper.protocol_differences import read_protocols, withhold_verdicts
from workflow_scripts.render.tables import read_table, write_table
from workflow_scripts.render.text import format_with_errors, numbers
from workflow_scripts.render.verdict import (
    BY_LUCK,
    LIMIT,
    NOT_COMPARABLE,
    judge_numbers,
)
from workflow_scripts.settings.mmlu import MmluComparison
from workflow_scripts.studies.harmony.published import compare_cells, compare_harmony
from workflow_scripts.studies.mmlu.published import compare_mmlu
from workflow_scripts.studies.prompts.published import compare_prompts
from workflow_scripts.studies.prompts.requests import PromptComparison
from workflow_scripts.studies.ranking.errors import estimate_reruns

NOTE = (
    "Each published number beside ours, as a fraction. z: difference over its standard error; below"
    f" {LIMIT:.0f} in size no difference is shown, and at most {BY_LUCK:.0%} of equal numbers exceed it by chance."
    " Agrees: the 90% interval of the difference is within the margin, {scores:g} points for scores and {ranks} ranks;"
    " other numbers without a shown difference are inconclusive. Would show: the smallest difference detectable with a"
    " power of 80%. The standard error of a fine-tuned score is estimated from the authors' two releases; elsewhere it"
    " has the sampling of items in both runs, which is conservative since the items are the same. Where none was"
    " published, ours stands for both. A rank differs where it is outside of our interval. Other protocol: the"
    " difference, and what differs (table protocol_differences). Numbers that were not measured, for one reason, share"
    " a line; the CSV has each."
)


def compare_published(
    published: dict[str, pd.DataFrame],
    ours: Mapping[str, pd.DataFrame],
    mmlu: MmluComparison,
    prompts: PromptComparison,
    harmony: Mapping[str, Any],
    margins: dict[str, float],
) -> pd.DataFrame:
    """Compare each published number with ours; `ours` has our tables that exist, by name."""
    leaderboard = published.pop("harmony_leaderboard")
    runs = published.pop("prompt_runs")
    cells = published.pop("harmony_cells")
    reruns = estimate_reruns(leaderboard, cells, harmony["models"])
    our_leaderboard = ours.get("harmony_leaderboard")
    rows = [
        *compare_mmlu(published, ours.get("mmlu_by_subject"), mmlu),
        *compare_prompts(runs, ours.get("prompt_runs"), prompts),
        *compare_harmony(leaderboard, our_leaderboard, harmony["source"], reruns),
        *compare_cells(cells, our_leaderboard, harmony["source"], reruns),
    ]
    return judge_numbers(rows, margins)


def format_columns(table: pd.DataFrame) -> pd.DataFrame:
    absent = table["ours"].isna() & (table["verdict"] == NOT_COMPARABLE)
    rows = table[~absent]
    whole = numbers(rows["published"], "g"), numbers(rows["ours"], "g")
    scores = [
        format_with_errors(rows[name], rows[f"{name}_stderr"]) for name in ("published", "ours")
    ]
    is_rank = rows["metric"] == "rank"
    published, ours = (np.where(is_rank, *pair) for pair in zip(whole, scores, strict=True))
    compared = {
        "Published in": rows["source"],
        "Of": rows["of"],
        "What": rows["item"].str.replace("_", " ") + ", " + rows["metric"],
        "Published": published,
        "Ours": ours,
        "Difference": numbers(rows["difference"], "+.3f"),
        "z": numbers(rows["z"], "+.1f"),
        "Would show": numbers(rows["smallest"]),
        "Verdict": rows["verdict"] + (": " + rows["because"]).fillna(""),
    }
    others = table[absent].groupby(["source", "because"], sort=False)["of"]
    others = others.agg(models="nunique", scores="size").reset_index()
    shared = {
        "Published in": others["source"],
        "Of": [f"{models} models" if models > 1 else None for models in others["models"]],
        "What": [f"{scores:,} numbers" for scores in others["scores"]],
        "Verdict": f"{NOT_COMPARABLE}: " + others["because"],
    }
    return pd.concat([pd.DataFrame(compared), pd.DataFrame(shared)], ignore_index=True)


def main(
    published: list[Path],
    ours: list[Path],
    protocols: Path,
    differences: Path,
    table: list[Path],
    comparison: dict[str, Any],
    margins: dict[str, float],
) -> None:
    compared = compare_published(
        {path.stem: pd.read_csv(path) for path in published},
        {path.stem: read_table(path) for path in ours},
        MmluComparison.of(comparison["mmlu"]),
        PromptComparison.of(comparison["prompts"]),
        comparison["harmony"],
        margins,
    )
    results = withhold_verdicts(
        compared, read_table(differences).fillna(""), read_protocols(protocols)
    )
    write_table(
        results,
        table,
        title="Reproduction of published numbers",
        note=NOTE.format(scores=100 * margins["scores"], ranks=margins["ranks"]),
        shown=format_columns(results),
    )


if "snakemake" in globals():
    run_job(main, snakemake)
