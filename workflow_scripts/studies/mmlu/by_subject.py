"""Tabulate and plot MMLU scores of each checkpoint by subject, with baselines and published scores."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.figures import add_counts, open_figure
from workflow_scripts.render.tables import write_table

METRICS = ("qem", "em", "acc")
PUBLISHED_METRIC = "published_qem"
MICRO, MACRO = "micro", "macro"
_TITLES = {MICRO: "all questions (micro)", MACRO: "mean of the subjects (macro)"}
NOTE = (
    "Score ± standard error on n questions, lighteval's task. qem: generated answer under HELM's normalisation, which"
    " counts an answer that becomes empty as a correct A; em: generated answer without normalisation; acc: likeliest"
    " letter. Baseline: the better of a random and the best constant answer; of 57 subjects one or two are two standard"
    " errors above it by chance. Published: qem of Qwen2.5-0.5B-Instruct in the same variant on all of MMLU (of chunked"
    " models with the aggregation mlp.none); models and questions of the miniature world are not those."
)
_KEYS = ["subject", "model", "variant"]


def compute_by_subject(
    scores: pd.DataFrame,
    checkpoints: Mapping[str, str | None],
    published: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Compute one row per subject and checkpoint, averages first, checkpoints in the given order.

    `checkpoints` maps each checkpoint to the published table of the same variant, if any.
    """
    is_macro = scores["metric"].str.endswith("_macro")
    subjects = (MICRO, MACRO, *sorted(scores["subset"].dropna().unique()))
    scores = scores.assign(
        subject=scores["subset"].fillna(MICRO).mask(is_macro, MACRO),
        metric=scores["metric"].str.removesuffix("_macro"),
    )
    ids = {name: CheckpointId.parse(name) for name in checkpoints}
    for name, source in checkpoints.items():
        if source:
            model = {"model": ids[name].model, "variant": ids[name].variant}
            printed = read_published_scores(published[source])
            scores = pd.concat([scores, printed.assign(metric=PUBLISHED_METRIC, **model)])
    keys = [(subject, id.model, id.variant) for subject in subjects for id in ids.values()]
    table = pd.DataFrame(index=pd.MultiIndex.from_tuples(keys, names=_KEYS))
    scores = scores.set_index(_KEYS)
    # The metrics share a baseline: the accuracy of the most frequent letter or of a random letter.
    table[["n", "baseline"]] = scores.groupby(_KEYS)[["n", "baseline"]].max()
    for metric in (*METRICS, PUBLISHED_METRIC):
        values = scores[scores["metric"] == metric]
        table[[metric, f"{metric}_stderr"]] = values[["value", "stderr"]]
    return table.astype("float64").astype({"n": "Int64"}).reset_index()


def read_published_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Read each subject's score and standard error of a published table; the average has no printed standard error."""
    table = table[~table["task"].str.contains("_average")]  # repeats the row `all`
    subjects = table["task"].str.split(":").str[2].fillna(MACRO)
    errors = table["stderr"].where(subjects != MACRO)
    return pd.DataFrame({"subject": subjects, "value": table["value"], "stderr": errors})


_SHOWN = {
    "Model": "{model}{variant}",
    "n": "{n}",
    "Baseline": "{baseline:.3f}",
    "Published qem": "{published_qem:.3f} ± {published_qem_stderr:.3f}",
    "qem": "{qem:.3f} ± {qem_stderr:.3f}",
    "em": "{em:.3f} ± {em_stderr:.3f}",
    "acc": "{acc:.3f} ± {acc_stderr:.3f}",
}


def plot_by_subject(table: pd.DataFrame, files: list[Path]) -> None:
    """Plot each score minus its baseline: subjects down, checkpoints and metrics across."""
    counts = table.groupby("subject", sort=False)["n"].max()
    names = counts.index.to_series().replace(_TITLES).str.replace("_", " ")
    subjects = add_counts(names, counts)
    columns = [
        (f"{name} {metric}", rows[metric] - rows["baseline"])
        for name, rows in table.groupby(table["model"] + table["variant"], sort=False)
        for metric in METRICS
    ]
    labels, gains = zip(*columns, strict=True)
    limit = max(0.1, np.nanmax(np.abs(gains), initial=0.0))
    width = 3.0 + 0.3 * max(len(labels), 9)
    height = 4.0 + 0.15 * len(subjects)
    with open_figure(files, width, height) as (fig, axes):
        image = axes.imshow(
            np.transpose(gains), aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit
        )
        axes.set_yticks(range(len(subjects)), subjects, fontsize=7)
        axes.set_xticks(range(len(labels)), labels, fontsize=7, rotation=90)
        fig.colorbar(image, ax=axes, label="score minus baseline")


def main(
    scores: Path,
    published: list[Path],
    table: list[Path],
    figure: list[Path],
    checkpoints: dict[str, str | None],
) -> None:
    published_tables = {path.stem: pd.read_csv(path) for path in published}
    by_subject = compute_by_subject(pd.read_parquet(scores), checkpoints, published_tables)
    subjects = by_subject["subject"].replace(_TITLES).str.replace("_", " ")
    shown = {"Subject": subjects, **_SHOWN}
    write_table(by_subject, table, title="MMLU by subject", note=NOTE, shown=shown)
    plot_by_subject(by_subject, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
