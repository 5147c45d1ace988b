"""The prompt runs of each model: accuracy, format, and what each run changed against another."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import sort_records
from workflow_scripts.render.figures import drawing, model_colours, rule, say_empty
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import number, numbers, p_value, with_errors
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


def read_right(records: Iterable[Path]) -> Right:
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
    whole = scores[(scores["study"] == "prompts") & scores["subset"].isna()]
    values = {
        (row.model + row.variant, row.task, row.metric): row
        for row in whole.fillna({"variant": ""}).itertuples()
    }
    printed = {(row.run, row.metric): float(row.percent) / 100 for row in published.itertuples()}
    rows = [
        _build_row(checkpoint, run, values, right, printed if is_published else {})
        for checkpoint, is_published in checkpoints.items()
        for run in runs
    ]
    table = pd.DataFrame(rows, columns=_COLUMNS)
    measured = [name for name in _COLUMNS if name not in _TEXTS]
    table[measured] = table[measured].apply(pd.to_numeric).astype("float64")
    return table.astype(dict.fromkeys(_INTEGERS, "Int64"))


def _build_row(
    checkpoint: str, run: Mapping[str, Any], values: dict, right: Right, printed: dict
) -> dict:
    key = (checkpoint, run["name"])
    parsed = CheckpointId.parse(checkpoint)
    row: dict[str, Any] = {
        "model": parsed.model,
        "variant": parsed.variant,
        "run": run["name"],
        "changed": run["changed"],
    }
    for metric in ("micro", "macro"):
        row[f"published_{metric}"] = printed.get((run["published"], metric))
    scores = ("acc", "acc_macro", "acc_strict", "format_met")
    micro, macro, strict, met = (values.get((*key, metric)) for metric in scores)
    if micro is None or macro is None or strict is None:
        if key not in right:
            return row
        raise UserError(
            f"The run {run['name']} of {checkpoint} has no score in results/scores/prompts.parquet;"
            " delete that file and run snakemake again."
        )
    return row | {
        "n": micro.n,
        "micro": micro.value,
        "micro_stderr": micro.stderr,
        "macro": macro.value,
        "macro_stderr": macro.stderr,
        "floor": micro.floor,
        "format_met": None if met is None else met.value,
        "strict_share": strict.value / micro.value if met is not None and micro.value else None,
        **_compare_pairs(*key, run["after"], right),
    }


def _compare_pairs(id: str, name: str, after: str | None, right: Right) -> dict:
    """Compare with the run before, on the questions that both were asked."""
    if after is None or not {(id, after), (id, name)} <= set(right):
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
    published = zip(
        numbers(table["published_micro"]), numbers(table["published_macro"]), strict=True
    )
    shown = {
        "Run": table["run"],
        "Model": table["model"] + table["variant"],
        "What changed": table["changed"],
        "n": numbers(table["n"], "d"),
        "Micro": with_errors(table["micro"], table["micro_stderr"]),
        "Macro": with_errors(table["macro"], table["macro_stderr"]),
        "Floor": numbers(table["floor"]),
        "Format met": numbers(table["format_met"]),
        "Strict": numbers(table["strict_share"]),
        "Difference": [
            None if pd.isna(points) else f"{number(100 * points, '+.1f')} to {after}"
            for points, after in zip(table["difference"], table["after"], strict=True)
        ],
        "p": [p_value(p, below="<") for p in table["p"]],
        "Published": [
            f"{micro}, macro {macro}" if micro and macro else micro for micro, macro in published
        ],
    }
    if table[["model", "variant"]].drop_duplicates().shape[0] == 1:
        del shown["Model"]
    return shown


def plot_runs(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Plot the runs: accuracy on the left, how many answers were in the asked form on the right."""
    table = table[table["n"].notna()]
    table = table.assign(id=table["model"] + table["variant"])
    runs = list(dict.fromkeys(table["run"]))
    colours = model_colours(list(dict.fromkeys(table["id"])))
    changed = table.drop_duplicates("run").set_index("run")["changed"]
    with drawing([pdf, png], 7.6, 1.6 + 0.36 * max(len(runs), 4)) as (fig, axes):
        if table.empty:
            say_empty(axes, "No run could be measured.")
            return
        axes.remove()
        left, right = fig.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        for at, (id, rows) in enumerate(table.groupby("id", sort=False)):
            shift = 0.16 * (at - (len(colours) - 1) / 2)
            _accuracy(left, rows.set_index("run"), runs, shift, colours[id], id)
            _format(right, rows.set_index("run"), runs, shift, colours[id])
        theirs = table.groupby("run", sort=False)["published_micro"].max().reindex(runs)
        if theirs.notna().any():
            left.plot(
                theirs,
                range(len(runs)),
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
        left.set_yticks(
            range(len(runs)),
            ["\n".join(wrap(f"{run}: {changed[run]}", _LABEL_WIDTH)) for run in runs],
            fontsize=7.5,
        )
        left.set_ylim(len(runs) - 0.5, -0.5)
        right.tick_params(axis="y", length=0)
        for panel in (left, right):
            rule(panel, "x", "0.92")
        _legend(fig, left, right)


def _legend(fig, *panels) -> None:
    """Below, each entry once."""
    once: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        once |= dict(zip(labels, handles, strict=True))
    fig.legend(once.values(), once.keys(), loc="outside lower center", ncols=2, fontsize=7.5)


def _accuracy(axes, rows: pd.DataFrame, runs: list[str], shift: float, colour, id: str) -> None:
    """A run of fewer questions stands beside the line, hollow: it compares with no other."""
    places = np.arange(len(runs)) + shift
    n = rows["n"].reindex(runs).astype("float64")  # of a run that broke none
    whole, fewer = n == n.max(), n < n.max()
    here = rows["micro"].reindex(runs)
    low, high = wilson(here, n)
    for mine, style in ((whole, {"linestyle": "-"}), (fewer, {"markerfacecolor": "white"})):
        if mine.any():
            axes.errorbar(
                here[mine],
                places[mine],
                xerr=np.stack([here - low, high - here])[:, mine],
                marker="o",
                markersize=5,
                capsize=2,
                linewidth=1.2,
                color=colour,
                **({"linestyle": "none"} | style),
                label=f"{id}, with its 95% interval"
                if mine is whole
                else "scored on fewer questions",
            )
    axes.vlines(
        rows["floor"].reindex(runs),
        places - 0.3,
        places + 0.3,
        color="0.6",
        linewidth=2,
        label="floor",
        zorder=0,
    )


def _format(axes, rows: pd.DataFrame, runs: list[str], shift: float, colour) -> None:
    places = np.arange(len(runs)) + shift
    axes.plot(
        rows["format_met"].reindex(runs),
        places,
        "s",
        markersize=5,
        color=colour,
        label="outputs in the asked format",
    )
    axes.plot(
        rows["strict_share"].reindex(runs),
        places,
        "x",
        color=colour,
        label="right answers that a strict reading counts too",
    )


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
    results = compute_runs(pd.read_parquet(scores), read_right(records), printed, checkpoints, runs)
    write_table(results, table, title="Prompt runs", note=NOTE, shown=_format_columns(results))
    plot_runs(results, *figure)


if "snakemake" in globals():
    run_job(main, snakemake)
