"""How much of all scores one number holds: the principal components of each protocol."""

from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import figure, save_both, say_empty
from workflow_scripts.render.tables import write_table
from workflow_scripts.stats.principal import (
    bootstrapped_variance,
    component_loadings,
    component_names,
    principal_components,
)
from workflow_scripts.studies.harmony.grid import PROTOCOLS, RAW_AND_MISSING, Grid
from workflow_scripts.studies.harmony.labels import COLOURS, MARKERS, shown_protocols, titles
from workflow_scripts.studies.harmony.leaderboard import ranked_scores

SHOWN = 6  # components in the figure
TITLE = "Principal components of the scores"
NOTE = (
    "Share of the variance of the standardised scores that each component has, with its 95% interval"
    " over models, for the models that have all tasks of the protocol. Even scores without anything in"
    " common give a first component of more than 1 / tasks, and two models always give one of 100%:"
    " read it beside the number of models. Loadings of the tasks are in the CSV."
    f" {RAW_AND_MISSING}"
)


def harmony_components(grids: dict[str, Grid], *, draws: int, seed: int) -> pd.DataFrame:
    """One row per protocol and component, with the loading of each task."""
    tables = [_of_protocol(grid, draws, seed) for grid in grids.values()]
    return pd.concat(tables, ignore_index=True)


def _of_protocol(grid: Grid, draws: int, seed: int) -> pd.DataFrame:
    columns = ["protocol", "origins", "models", "tasks", "component", "share", "low", "high"]
    scores = ranked_scores(grid)
    if len(scores) < 2 or not scores.shape[1]:
        none = (
            grid.protocol,
            grid.origins,
            len(scores),
            scores.shape[1],
            "",
            np.nan,
            np.nan,
            np.nan,
        )
        return pd.DataFrame([none], columns=columns)
    shares = principal_components(scores).explained_variance_ratio
    interval = bootstrapped_variance(scores, draws=draws, seed=seed)
    table = pd.DataFrame(
        {
            "protocol": grid.protocol,
            "origins": grid.origins,
            "models": len(scores),
            "tasks": scores.shape[1],
            "component": shares.index,
            "share": shares.to_numpy(),
            "low": interval["low"].to_numpy(),
            "high": interval["high"].to_numpy(),
        }
    )
    loadings = component_loadings(scores).T.add_prefix("loading_")
    return table.join(loadings, on="component")


def write_harmony_components(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    def show(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "Protocol": frame["protocol"].map(PROTOCOLS),
                "Models": frame["models"].astype(str),
                "Tasks": frame["tasks"].astype(str),
                "Component": frame["component"].replace("", None),
                "Share (%)": [_percent(share) for share in frame["share"]],
                "Interval (%)": [
                    None if pd.isna(low) else f"{_percent(low)} to {_percent(high)}"
                    for low, high in zip(frame["low"], frame["high"], strict=True)
                ],
            }
        )

    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=show)


def _percent(share: float) -> str | None:
    return None if pd.isna(share) else f"{100 * share:.2f}"


def write_harmony_components_figure(
    table: pd.DataFrame, tasks: list[dict], pdf: Path, png: Path
) -> None:
    """Left the share of variance of the first components, right the tasks' loadings on the first."""
    table = table.dropna(subset=["share"])
    protocols = shown_protocols(table)
    columns = [name for name in table if name.startswith("loading_") and table[name].notna().any()]
    names = {f"loading_{row['task']}": row["display_name"] for row in tasks}
    with figure(9, 1.6 + 0.22 * max(len(columns), 9), ncols=2) as (fig, axes):
        if not protocols:
            for axis in axes:
                say_empty(axis, "Fewer than two models have all tasks of a protocol.")
        for at, protocol in enumerate(protocols):
            of = table[table["protocol"] == protocol].head(SHOWN)
            shift = (at - (len(protocols) - 1) / 2) * 0.18
            reach = [
                (of["share"] - of["low"]).clip(lower=0).fillna(0) * 100,
                (of["high"] - of["share"]).clip(lower=0).fillna(0) * 100,
            ]
            said = f"{titles(table)[protocol]}, {of['models'].iloc[0]} models"
            style = {"fmt": MARKERS[protocol], "color": COLOURS[protocol], "markersize": 4.5}
            axes[0].errorbar(
                np.arange(len(of)) + shift, 100 * of["share"], yerr=reach, label=said, **style
            )
            style["linestyle"] = "none"
            axes[1].errorbar(
                of[columns].iloc[0], np.arange(len(columns)) + shift, label=said, **style
            )
        if protocols:
            axes[0].set_xticks(range(SHOWN), component_names(SHOWN))
            axes[0].set_ylim(0, 100)
            axes[0].set_ylabel("share of the variance, %")
            axes[1].set_yticks(range(len(columns)), [names[c] for c in columns], fontsize=8)
            axes[1].set_ylim(len(columns) - 0.4, -0.6)
            axes[1].axvline(0, color="0.6", linewidth=0.8)
            axes[1].set_xlabel("loading on PC1")
            for axis, direction in zip(axes, "yx", strict=True):
                axis.grid(axis=direction, color="0.9", linewidth=0.6)
                axis.set_axisbelow(True)
            fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        save_both(fig, pdf, png)
