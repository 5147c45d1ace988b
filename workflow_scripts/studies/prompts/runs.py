"""Tabulate the prompt runs of each model: accuracy, format, and what each run changed against another."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import sort_records
from workflow_scripts.render.figures import draw_placeholder, drawing, pick_model_colours, rule
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import format_with_errors, numbers, p_value
from workflow_scripts.stats.shares import wilson
from workflow_scripts.stats.significance import mcnemar

NOTE = (
    "The same questions, asked in different ways. Micro: share of all n questions answered right, ±"
    " standard error; macro: mean over the subjects. Floor: the best that always naming the first,"
    " second, third or fourth choice, or one at random, scores under the run's own rule. Format met:"
    " share of outputs in exactly the form that the prompt asks for. Strict: share of the right answers"
    " that are in that form and equal to the right choice. Difference: in percentage points to the run"
    " named, on the questions that both were asked, with p of McNemar's exact test; a run of fewer"
    " questions compares with no other but there. The first 285 questions are counted in MMLU's order,"
    " asked or not: a config that asks only some of each subject asks fewer. Published:"
    " Llama-3.2-1B-Instruct on all of MMLU, its"
    " run 4 on 285 questions; in the miniature world models and questions are others, and only the"
    " shape can be compared."
)
_INTEGERS = ["n", "pairs", "won", "lost"]
_COLUMNS = [
    *("model", "variant", "run", "changed", "n", "micro", "micro_stderr", "macro", "macro_stderr"),
    *("floor", "format_met", "strict_share", "after", "pairs", "difference", "won", "lost", "p"),
    *("published_micro", "published_macro"),
]
_TEXTS = ["model", "variant", "run", "changed", "after"]
Right = dict[tuple[str, str], pd.Series]
_LABEL_WIDTH = 34  # characters beside one run of the figure
_SCORES = {
    "micro": "acc",
    "macro": "acc_macro",
    "strict": "acc_strict",
    "format_met": "format_met",
}


def read_correct_answers(records: Iterable[Path]) -> Right:
    """Read whether each question was answered right, by checkpoint and run; broken cells are left out."""
    right = {}
    for path, record in sort_records(records)[0]:
        items = read_items(path.with_name(record.items.file)).select(["item", "correct"])
        frame = items.to_pandas().set_index("item")
        right[record.model.id, record.task.name] = frame["correct"].astype(bool)
    return right


def compute_runs(
    scores: pd.DataFrame,
    right: Right,
    published: pd.DataFrame,
    checkpoints: Mapping[str, bool],
    runs: Sequence[Mapping[str, Any]],
) -> pd.DataFrame:
    """Compute one row per checkpoint and run; a run that broke has a row without numbers.

    `checkpoints` says of each whether the published scores are of the same model. `runs` have the name of each run,
    what it changed, the run `after` which it comes, and what the published runs call it.
    """
    printed = published.set_index(["run", "metric"])["percent"].astype(float) / 100
    rows = []
    for name, is_published in checkpoints.items():
        checkpoint = CheckpointId.parse(name)
        for run in runs:
            row = {"model": checkpoint.model, "variant": checkpoint.variant}
            row |= {"run": run["name"], "changed": run["changed"]}
            if (name, run["name"]) in right:
                row |= _compare_pairs(name, run["name"], run["after"], right)
            for metric in ("micro", "macro"):
                if is_published:
                    row[f"published_{metric}"] = printed.get((run["published"], metric))
            rows.append(row)
    table = pd.DataFrame(rows, columns=_COLUMNS)
    keys = ["model", "variant", "run"]
    scores = scores[(scores["study"] == "prompts") & scores["subset"].isna()]
    scores = scores.fillna({"variant": ""}).rename(columns={"task": "run"}).set_index(keys)
    index = pd.MultiIndex.from_frame(table[keys])
    values = {}
    for name, metric in _SCORES.items():
        measured = scores[scores["metric"] == metric].reindex(index)
        values[name] = measured["value"].to_numpy()
        if name in ("micro", "macro"):
            table[name] = values[name]
            table[f"{name}_stderr"] = measured["stderr"].to_numpy()
        if name == "micro":
            table["n"] = measured["n"].to_numpy()
            table["floor"] = measured["floor"].to_numpy()
    table["format_met"] = values["format_met"]
    is_strict = table["format_met"].notna() & (table["micro"] > 0)
    table["strict_share"] = (values["strict"] / table["micro"]).where(is_strict)
    numeric = [name for name in _COLUMNS if name not in _TEXTS]
    table[numeric] = table[numeric].apply(pd.to_numeric).astype("float64")
    return table.astype(dict.fromkeys(_INTEGERS, "Int64"))


def _compare_pairs(id: str, name: str, after: str | None, right: Right) -> dict:
    """Compare with the run before, on the questions that both were asked."""
    if after is None or (id, after) not in right:
        return {}
    before, here = right[id, after].align(right[id, name], join="inner")
    if before.empty:
        return {"after": after, "pairs": 0}
    test = mcnemar(before.to_numpy(dtype=bool), here.to_numpy(dtype=bool))
    return {
        "after": after,
        "pairs": len(here),
        "difference": (test.c - test.b) / len(here),
        "won": test.c,
        "lost": test.b,
        "p": test.p,
    }


def _format_columns(table: pd.DataFrame) -> ShownColumns:
    points = numbers(100 * table["difference"], "+.1f")
    published = [numbers(table[f"published_{metric}"]) for metric in ("micro", "macro")]
    shown = {
        "Run": table["run"],
        "Model": table["model"] + table["variant"],
        "What changed": table["changed"],
        "n": numbers(table["n"], "d"),
        "Micro": format_with_errors(table["micro"], table["micro_stderr"]),
        "Macro": format_with_errors(table["macro"], table["macro_stderr"]),
        "Floor": numbers(table["floor"]),
        "Format met": numbers(table["format_met"]),
        "Strict": numbers(table["strict_share"]),
        "Difference": [
            difference and f"{difference} to {after}"
            for difference, after in zip(points, table["after"], strict=True)
        ],
        "p": [p_value(p, below="<") for p in table["p"]],
        "Published": [
            f"{micro}, macro {macro}" if macro else micro
            for micro, macro in zip(*published, strict=True)
        ],
    }
    if shown["Model"].nunique() == 1:
        del shown["Model"]
    return shown


def plot_runs(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Plot the runs: accuracy on the left, how many answers were in the asked form on the right."""
    table = table[table["n"].notna()].astype({"n": "float64"})
    runs = list(dict.fromkeys(table["run"]))
    places = table["run"].map({run: place for place, run in enumerate(runs)}).astype(float)
    names = table["model"] + table["variant"]
    with drawing([pdf, png], 7.6, 1.6 + 0.36 * max(len(runs), 4)) as (fig, axes):
        if table.empty:
            draw_placeholder(axes, "No run could be measured.")
            return
        axes.remove()
        left, right = fig.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        colours = pick_model_colours(list(dict.fromkeys(names)))
        for number, (name, colour) in enumerate(colours.items()):
            rows, y = table[names == name], places[names == name]
            y = y + 0.16 * (number - (len(colours) - 1) / 2)
            low, high = wilson(rows["micro"], rows["n"])
            errors = [rows["micro"] - low, high - rows["micro"]]
            left.errorbar(
                rows["micro"],
                y,
                xerr=errors,
                fmt="o",
                markersize=5,
                capsize=2,
                linewidth=1.2,
                color=colour,
                label=f"{name}, with its 95% interval",
            )
            left.plot(rows["floor"], y, "|", color="0.6", markersize=12, label="floor", zorder=0)
            right.plot(
                rows["format_met"],
                y,
                "s",
                markersize=5,
                color=colour,
                label="outputs in the asked format",
            )
            right.plot(
                rows["strict_share"],
                y,
                "x",
                color=colour,
                label="right answers that a strict reading counts too",
            )
        if table["published_micro"].notna().any():
            left.plot(
                table["published_micro"],
                places,
                "D",
                color="black",
                markerfacecolor="white",
                markersize=5,
                label="published (Llama-3.2-1B-Instruct)",
            )
        left.set_xlabel("right answers")
        left.set_xlim(left=min(-0.01, left.get_xlim()[0]))
        right.set_xlabel("share")
        right.set_xlim(-0.05, 1.05)
        changed = dict(zip(table["run"], table["changed"], strict=True))
        labels = ["\n".join(wrap(f"{run}: {changed[run]}", _LABEL_WIDTH)) for run in runs]
        left.set_yticks(range(len(runs)), labels, fontsize=7.5)
        left.set_ylim(len(runs) - 0.5, -0.5)
        right.tick_params(axis="y", length=0)
        entries: dict[str, Any] = {}
        for panel in (left, right):
            rule(panel, "x", "0.92")
            handles, texts = panel.get_legend_handles_labels()
            entries |= dict(zip(texts, handles, strict=True))
        fig.legend(entries.values(), entries, loc="outside lower center", ncols=2, fontsize=7.5)


def main(
    scores: Path,
    records: list[Path],
    published: Path,
    table: list[Path],
    figure: list[Path],
    checkpoints: Mapping[str, bool],
    runs: Sequence[Mapping[str, Any]],
) -> None:
    # As text: a run's name is no number.
    printed = pd.read_csv(published, dtype="string")
    results = compute_runs(
        pd.read_parquet(scores), read_correct_answers(records), printed, checkpoints, runs
    )
    write_table(results, table, title="Prompt runs", note=NOTE, shown=_format_columns(results))
    plot_runs(results, *figure)


if "snakemake" in globals():
    run_job(main, snakemake)
