"""Compare every checkpoint at every stage of training with the unchanged model: quality and speed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_records
from workflow_scripts.render.figures import (
    draw_grid_lines,
    draw_legend_below,
    open_figure,
    pick_model_colours,
    set_log_axis,
)
from workflow_scripts.render.tables import read_table, write_table
from workflow_scripts.render.text import format_perplexity
from workflow_scripts.stats.partial_order import CRITICAL_Z
from workflow_scripts.studies.chunking.plan_tables import COMPARED_TEXT
from workflow_scripts.studies.mmlu.by_subject import MICRO
from workflow_scripts.studies.training.stages import UNTRAINED

NOTE = (
    "Tokens: trained on in all stages. Perplexity ± standard error on wikitext, and its ratio to the unchanged model's."
    " Agreement: percent of MMLU's questions on which the likeliest letter is the unchanged model's. Accuracy: fraction"
    " of these n questions on which the likeliest letter is right, ± standard error; baseline: the better of"
    " a fixed and a random answer. Speedup: of generation over the unchanged model, which alternated with it, in the"
    " smallest batch on one device, by the faster of fused and loop, before training. A dash was not measured."
)
_PANELS = {
    "ratio": "perplexity relative to\nthe unchanged model",
    "agreement": "same likeliest letter\nas the unchanged model",
    "accuracy": "MMLU accuracy,\n95% CI",
    "speedup": "speedup at generation",
}


def compute_quality(
    checkpoints: Sequence[str],
    stages: pd.DataFrame,
    mmlu: pd.DataFrame,
    speedups: pd.Series,
    letters: Mapping[str, np.ndarray],
) -> pd.DataFrame:
    """Compute a row for each checkpoint, in the given order; missing measurements are empty.

    `speedups` and `letters`, the likeliest letter of each MMLU question, are by checkpoint.
    """
    ids = [CheckpointId.parse(name) for name in checkpoints]
    models = [id.model for id in ids]
    stages = stages.set_index(stages["model"] + stages["variant"])
    mmlu = mmlu[mmlu["subject"] == MICRO]
    mmlu = mmlu.set_index(mmlu["model"] + mmlu["variant"])
    columns = {
        "model": models,
        "variant": [id.variant for id in ids],
        "stage": [id.stages[-1] if id.stages else UNTRAINED for id in ids],
        "tokens": [_sum_tokens(id, stages["tokens"]) for id in ids],
        "perplexity": stages[COMPARED_TEXT],
        "perplexity_stderr": stages[f"{COMPARED_TEXT} stderr"],
        "agreement": [_compare_letters(id, letters) for id in ids],
        "accuracy": mmlu["acc"],
        "accuracy_stderr": mmlu["acc_stderr"],
        "baseline": mmlu["baseline"],
        "n": mmlu["n"],
        "speedup": [speedups.get(str(id.timed_variant), np.nan) for id in ids],
    }
    table = pd.DataFrame(columns, checkpoints)
    table["ratio"] = table["perplexity"] / table["perplexity"].reindex(models).to_numpy()
    return table.astype({"tokens": "Int64", "n": "Int64"}).reset_index(drop=True)


def _sum_tokens(id: CheckpointId, tokens: pd.Series) -> float:
    """Sum the tokens of all training stages of a checkpoint; NaN if one is unknown."""
    stages = [str(replace(id, stages=id.stages[:end])) for end in range(1, len(id.stages) + 1)]
    return tokens.reindex(stages).sum(skipna=False)


def _compare_letters(id: CheckpointId, letters: Mapping[str, np.ndarray]) -> float:
    """Return the fraction of questions with the unchanged model's likeliest letter; NaN if one has none."""
    if {str(id), id.model} <= letters.keys():
        return (letters[str(id)] == letters[id.model]).mean()
    return np.nan


def find_speedups(latency: pd.DataFrame) -> pd.Series:
    """Find the speedup of each checkpoint in the smallest batch on one device, by its faster execution."""
    rows = latency[(latency["devices"] == 1) & (latency["batch"] == latency["batch"].min())]
    variants = rows["variant"].mask(rows["way"] == "unchanged", "")
    return rows.groupby(rows["model"] + variants)["token_faster"].max()


def read_letters(records: Iterable[Path]) -> dict[str, np.ndarray]:
    """Read the likeliest letter of each question from the records of MMLU, by checkpoint."""
    return {
        record.model.id: np.array(read_items(path)["loglikelihoods"].to_pylist()).argmax(axis=1)
        for path, record in read_records(records)
    }


_SHOWN = {
    "Model": "{model}",
    "Variant": "{variant}",
    "Tokens": "{tokens:,d}",
    "Perplexity": "{perplexity:perplexity} ± {perplexity_stderr:perplexity}",
    "Ratio": "{ratio:perplexity}",
    "Agreement": "{agreement:.1%}",
    "Accuracy": "{accuracy:.3f} ± {accuracy_stderr:.3f}",
    "Baseline": "{baseline:.3f}",
    "n": "{n}",
    "Speedup": "{speedup:.2f}",
}


def plot_quality(table: pd.DataFrame, files: list[Path]) -> None:
    """Plot a row per checkpoint, a panel per measure and a colour per stage."""
    names = table["variant"].replace("", "unchanged")
    if table["model"].nunique() > 1:
        names = table["model"] + table["variant"]
    colours = pick_model_colours(table["stage"])
    size = 9.0, 1.5 + 0.25 * max(4, len(table))
    with open_figure(files, *size, ncols=len(_PANELS), sharey=True) as (fig, panels):
        for axes, (column, label) in zip(panels, _PANELS.items(), strict=True):
            axes.set_xlabel(label, fontsize=8)
            draw_grid_lines(axes, "both")
            for stage, rows in table.groupby("stage", sort=False):
                half_width = CRITICAL_Z * rows["accuracy_stderr"] if column == "accuracy" else None
                style = {"fmt": "o", "markersize": 4, "color": colours[stage], "label": stage}
                axes.errorbar(rows[column], rows.index, xerr=half_width, **style)
            for value in table.loc[table["variant"] == "", column]:
                axes.axvline(value, color="0.4", linewidth=0.8, zorder=0)
        if table["ratio"].notna().any():
            set_log_axis(panels[0], format_perplexity)
        panels[0].set_yticks(table.index, names, fontsize=7.5)
        panels[0].invert_yaxis()
        draw_legend_below(fig, panels[0], 6)


def main(
    stages: Path | None,
    mmlu: Path,
    latency: Path | None,
    records: list[Path],
    table: list[Path],
    figure: list[Path],
    checkpoints: list[str],
) -> None:
    """Write the table and the figure; `stages` is empty without training, `latency` without timings."""
    columns = ["model", "variant", "tokens", COMPARED_TEXT, f"{COMPARED_TEXT} stderr"]
    trained = read_table(stages) if stages else pd.DataFrame(columns=columns, dtype="float64")
    speedups = find_speedups(read_table(latency)) if latency else pd.Series()
    letters = read_letters(records)
    rows = compute_quality(checkpoints, trained, read_table(mmlu), speedups, letters)
    title = "Quality and speed of chunked models"
    shown = _SHOWN | {"Variant": rows["variant"].replace("", "unchanged")}
    write_table(rows, table, title=title, note=NOTE, shown=shown)
    plot_quality(rows, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
