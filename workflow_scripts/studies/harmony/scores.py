"""The score of each model on each task of the Harmony study, beside what it must beat."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.render.figures import FORMATS, figure, model_colours, save
from workflow_scripts.render.tables import write_table

TITLE = "Direct evaluation of the Harmony grid"
NOTE = (
    "Score ± standard error on n items, lm-eval's own task and metric. Chance: answering at random."
    " Floor: the better of chance and the best fixed answer. Above the floor by so many standard"
    " errors: below 2, nothing was shown. Origin, where there are imported scores: own, or their file."
)


def harmony_scores(
    scores: pd.DataFrame,
    models: list[dict],
    tasks: list[dict],
    imported: Sequence[pd.DataFrame] = (),
) -> pd.DataFrame:
    """One row per task and model, in the order of the config, primary metric only.

    Imported scores follow ours, each under the name of its file, on the tasks of the config.
    """
    direct = pd.concat([scores[scores["study"] == "harmony"], *imported], ignore_index=True)
    direct = direct[direct["protocol"] == "direct"]
    models = [model | {"study": "harmony"} for model in models]
    theirs = direct.loc[direct["study"] != "harmony", ["model", "study"]].drop_duplicates()
    models += [row | {"parameters": None} for row in theirs.to_dict("records")]
    rows = []
    for task in tasks:
        for model in models:
            match = direct[
                (direct.task == task["task"])
                & (direct.study == model["study"])
                & (direct.model == model["model"])
                & (direct.variant == "")
                & (direct.metric == task["metric"])
                & direct.subset.isna()
            ]
            if len(match) > 1:
                raise UserError(
                    f"There are {len(match)} scores of {model['model']} on {task['task']} in the study"
                    f" {model['study']}, direct; expected one. Delete results/scores/harmony.parquet."
                )
            if not len(match) and model["study"] != "harmony":
                continue  # theirs is not ours to miss
            found = match.iloc[0] if len(match) else pd.Series(dtype=object)
            rows.append(
                {
                    "task": task["display_name"],
                    "category": task["category"],
                    "model": model["model"],
                    "origin": "own" if model["study"] == "harmony" else model["study"],
                    "parameters": model["parameters"],
                    "metric": task["metric"],
                    **{k: found.get(k) for k in ("value", "stderr", "n", "chance", "floor")},
                }
            )
    table = pd.DataFrame(rows)
    numbers = ["value", "stderr", "n", "chance", "floor"]
    table[numbers] = table[numbers].apply(pd.to_numeric)
    # A perfect score has no spread, so it stands infinitely far above. A model that answers always
    # the same has none either, and there it says nothing.
    z = (table["value"] - table["floor"]) / table["stderr"]
    table["z"] = z.mask(z == -np.inf)
    return table


def write_harmony_scores_table(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=_show)


def _show(table: pd.DataFrame) -> pd.DataFrame:
    def number(value: float, spec: str) -> str | None:
        return None if pd.isna(value) else format(value, spec).replace("-", "−").replace("inf", "∞")

    score = [
        None if pd.isna(v) else number(v, ".3f") + ("" if pd.isna(e) else f" ± {e:.3f}")
        for v, e in zip(table["value"], table["stderr"], strict=True)
    ]
    return pd.DataFrame(
        {
            "Task": table["task"],
            "Model": table["model"],
            **({"Origin": table["origin"]} if (table["origin"] != "own").any() else {}),
            "Parameters": [None if pd.isna(p) else f"{p:,.0f}" for p in table["parameters"]],
            "Metric": table["metric"],
            "Score": score,
            "n": [number(n, ".0f") for n in table["n"]],
            "Chance": [number(c, ".3f") for c in table["chance"]],
            "Floor": [number(f, ".3f") for f in table["floor"]],
            "Above floor (SE)": [number(z, "+.1f") for z in table["z"]],
        }
    )


def write_harmony_scores_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Tasks down, score across: a dot with two standard errors per model, a tick at the floor."""
    tasks = list(dict.fromkeys(table["task"]))
    # A star as in the other figures: scores from elsewhere.
    table = table.assign(name=table["model"].where(table["origin"] == "own", table["model"] + "*"))
    models = list(dict.fromkeys(table.sort_values("parameters")["name"]))
    colours = model_colours(models)
    with figure(width=6.5, height=1.0 + 0.3 * len(tasks) + 0.1 * len(models)) as (fig, axes):
        step = 0.7 / max(len(models), 1)
        for at, model in enumerate(models):
            rows = table[(table["name"] == model) & table["value"].notna()]
            y = [tasks.index(t) + (at - (len(models) - 1) / 2) * step for t in rows["task"]]
            axes.errorbar(
                rows["value"],
                y,
                xerr=2 * rows["stderr"].fillna(0),
                fmt="o",
                markersize=4.5,
                linewidth=1,
                color=colours[model],
                label=model,
            )
        for row, task in enumerate(tasks):
            floor = table.loc[table["task"] == task, "floor"].max()
            if pd.notna(floor):
                axes.plot([floor, floor], [row - 0.42, row + 0.42], color="0.45", linewidth=1.4,
                          label="floor" if row == 0 else None)  # fmt: skip
        axes.set_yticks(range(len(tasks)), tasks)
        axes.set_ylim(len(tasks) - 0.4, -0.6)  # downwards, as in the table
        axes.set_xlabel("score, with two standard errors each way")
        reach = 2 * table["stderr"].fillna(0)
        axes.set_xlim(
            left=min(0.0, (table["value"] - reach).min()) - 0.02,
            right=max(1.0, table["value"].max()) + 0.02,
        )
        axes.grid(axis="x", color="0.9", linewidth=0.6)
        axes.set_axisbelow(True)
        fig.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        for path, kind in ((pdf, FORMATS[0]), (png, FORMATS[1])):
            save(fig, path, kind)
