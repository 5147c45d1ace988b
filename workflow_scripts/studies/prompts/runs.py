"""The prompt runs of each model: accuracy, format, and what each run changed against another."""

from pathlib import Path
from textwrap import wrap

import numpy as np
import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.render.figures import FORMATS, model_colours, save
from workflow_scripts.render.figures import figure as styled_figure
from workflow_scripts.render.tables import write_table
from workflow_scripts.stats.significance import mcnemar

TITLE = "Prompt runs"
NOTE = (
    "The same questions, asked in different ways. Micro: share of all n questions answered right, ±"
    " standard error; macro: mean over the subjects. Floor: the best that always naming the first,"
    " second, third or fourth choice, or one at random, scores under the run's own rule. Format met:"
    " share of outputs in exactly the form that the prompt asks for. Strict: share of the right answers"
    " that are in that form and equal to the right choice. Difference: in percentage points to the run"
    " named, on the questions that both were asked, with p of McNemar's exact test; a run of fewer"
    " questions compares with no other but there. The first 285 questions are counted in MMLU's order,"
    " asked or not: a config that asks only some of each subject asks fewer. Published: Llama-3.2-1B-Instruct on all of MMLU, its"
    " run 4 on 285 questions; in the miniature world models and questions are others, and only the"
    " shape can be compared."
)
Right = dict[tuple[str, str], pd.Series]
_LABEL_WIDTH = 34  # characters beside one run of the figure


def read_right(records: list[Path]) -> Right:
    """By checkpoint and run: whether each question was answered right, by its id."""
    found = {}
    for path in records:
        record = read_record(path)
        items = read_items(path.with_name(record.items.file)).select(["item", "correct"])
        frame = items.to_pandas().set_index("item")
        found[record.model.id, record.task.name] = frame["correct"].astype(bool)
    return found


def prompt_runs(
    scores: pd.DataFrame,
    right: Right,
    published: pd.DataFrame,
    checkpoints: list[dict],
    runs: list[dict],
) -> pd.DataFrame:
    """One row per checkpoint and run, in the order given.

    A checkpoint is its `id` and whether the `published` scores may stand beside its own; a run is its
    `name`, what it `changed`, which run it comes `after`, and its `published` name, or None.
    """
    whole = scores[(scores["study"] == "prompts") & scores["subset"].isna()]
    found = {
        (row.model + row.variant, row.task, row.metric): row
        for row in whole.fillna({"variant": ""}).itertuples()
    }
    theirs = {(row.run, row.metric): float(row.percent) / 100 for row in published.itertuples()}
    rows = [
        _row(checkpoint, run, found, right, theirs) for checkpoint in checkpoints for run in runs
    ]
    table = pd.DataFrame(rows)
    texts = ["model", "variant", "run", "changed", "after"]
    numbers = table.columns.drop(texts)
    table[numbers] = table[numbers].apply(pd.to_numeric)
    return table


def _row(checkpoint: dict, run: dict, found: dict, right: Right, theirs: dict) -> dict:
    id, name = checkpoint["id"], run["name"]
    parsed = CheckpointId.parse(id)

    def score(metric: str):
        return found.get((id, name, metric))

    micro, macro, strict, met = map(score, ("acc", "acc_macro", "acc_strict", "format_met"))
    if micro is None or macro is None or strict is None:
        raise UserError(
            f"The run {name} of {id} has no score in results/scores/prompts.parquet; delete that file"
            " and run snakemake again."
        )
    with_format = met is not None
    row = {
        "model": parsed.model,
        "variant": parsed.variant,
        "run": name,
        "changed": run["changed"],
        "n": micro.n,
        "micro": micro.value,
        "micro_stderr": micro.stderr,
        "macro": macro.value,
        "macro_stderr": macro.stderr,
        "floor": micro.floor,
        "format_met": met.value if with_format else None,
        "strict_share": strict.value / micro.value if with_format and micro.value else None,
        **_compared(id, name, run["after"], right),
    }
    for metric in ("micro", "macro"):
        key = (run["published"], metric)
        row[f"published_{metric}"] = theirs.get(key) if checkpoint["published"] else None
    return row


def _compared(id: str, name: str, after: str | None, right: Right) -> dict:
    """With the run before, on the questions that both were asked."""
    empty = dict.fromkeys(("pairs", "difference", "won", "lost", "p"))
    if after is None or (id, after) not in right:
        return {"after": None, **empty}
    before, here = right[id, after].align(right[id, name], join="inner")
    if before.empty:
        return {"after": after, **empty, "pairs": 0}
    test = mcnemar(before.to_numpy(dtype=bool), here.to_numpy(dtype=bool))
    return {
        "after": after,
        "pairs": len(here),
        "difference": (test.c - test.b) / len(here),
        "won": test.c,
        "lost": test.b,
        "p": test.p,
    }


def write_prompt_table(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=_show)


def _show(table: pd.DataFrame) -> pd.DataFrame:
    def number(value: float, spec: str) -> str | None:
        return None if pd.isna(value) else format(value, spec).replace("-", "−")

    def numbers(name: str, spec: str) -> list[str | None]:
        return [number(value, spec) for value in table[name]]

    def score(name: str) -> list[str]:
        return [
            number(value, ".3f") + ("" if pd.isna(error) else f" ± {error:.3f}")
            for value, error in zip(table[name], table[f"{name}_stderr"], strict=True)
        ]

    def published() -> list[str | None]:
        both = zip(
            numbers("published_micro", ".3f"), numbers("published_macro", ".3f"), strict=True
        )
        return [micro and (f"{micro}, macro {macro}" if macro else micro) for micro, macro in both]

    shown = {
        "Run": table["run"],
        "Model": table["model"] + table["variant"],
        "What changed": table["changed"],
        "n": numbers("n", ".0f"),
        "Micro": score("micro"),
        "Macro": score("macro"),
        "Floor": numbers("floor", ".3f"),
        "Format met": numbers("format_met", ".3f"),
        "Strict": numbers("strict_share", ".3f"),
        "Difference": [
            None
            if pd.isna(row.difference)
            else f"{number(100 * row.difference, '+.1f')} to {row.after}"
            for row in table.itertuples()
        ],
        "p": ["< 0.001" if p < 0.001 else number(p, ".3f") for p in table["p"]],
        "Published": published(),
    }
    if table[["model", "variant"]].drop_duplicates().shape[0] == 1:
        del shown["Model"]
    return pd.DataFrame(shown)


def write_prompt_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Runs down; accuracy on the left, how many answers were in the asked form on the right."""
    variant = table["variant"].astype("object").fillna("")  # read from CSV, none is no text
    table = table.assign(id=table["model"] + variant)
    runs = list(dict.fromkeys(table["run"]))
    colours = model_colours(list(dict.fromkeys(table["id"])))
    changed = table.drop_duplicates("run").set_index("run")["changed"]
    with styled_figure(width=7.6, height=1.6 + 0.36 * max(len(runs), 4)) as (fig, axes):
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
            panel.grid(axis="x", color="0.92", linewidth=0.6)
            panel.set_axisbelow(True)
        _legend(fig, left, right)
        for path, kind in ((pdf, FORMATS[0]), (png, FORMATS[1])):
            save(fig, path, kind)


def _legend(fig, *panels) -> None:
    """Below, each entry once."""
    once = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        once |= dict(zip(labels, handles, strict=True))
    fig.legend(once.values(), once.keys(), loc="outside lower center", ncols=2, fontsize=7.5)


def _accuracy(axes, rows: pd.DataFrame, runs: list[str], shift: float, colour, id: str) -> None:
    """A run of fewer questions stands beside the line, hollow: it compares with no other."""
    places = np.arange(len(runs)) + shift
    whole = rows["n"].reindex(runs) == rows["n"].max()
    for mine, style in ((whole, {"linestyle": "-"}), (~whole, {"markerfacecolor": "white"})):
        if mine.any():
            axes.errorbar(
                rows["micro"].reindex(runs)[mine],
                places[mine],
                xerr=2 * rows["micro_stderr"].reindex(runs)[mine].fillna(0),
                marker="o",
                markersize=5,
                capsize=2,
                linewidth=1.2,
                color=colour,
                **({"linestyle": "none"} | style),
                label=f"{id}, ± 2 standard errors"
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
