"""Figure: how well each task agrees with the others, by protocol, beside what drawing again would leave."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import Figure, legend_below, say_empty
from workflow_scripts.studies.ranking import labels
from workflow_scripts.studies.ranking.agreement import TABLE
from workflow_scripts.studies.ranking.frame import MEAN, TASK, TASK_CEILING
from workflow_scripts.studies.ranking.requests import GridWords


def write_agreement_by_task(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    """Tasks down, those of highest agreement first; a tick is the ceiling, a dotted line the mean."""
    if "measure" in table:
        table = table[table["measure"] == "kendall"]
    rows = table[table["statistic"] == TASK].dropna(subset=["value"])
    protocols = labels.shown_protocols(rows, request.grid)
    with labels.drawing(pdf, png, 6.5, 1.5 + 0.26 * max(rows["first"].nunique(), 3)) as (fig, axes):
        if not protocols:
            say_empty(axes, "No two tasks have scores of the same models.")
            return
        last = rows[rows["protocol"] == protocols[-1]].set_index("first")["value"]
        order = list(dict.fromkeys([*last.sort_values(ascending=False).index, *rows["first"]]))
        for protocol, of, shift, look in labels.beside(rows, request.grid, gap=0.24):
            down = [order.index(task) + shift for task in of["first"]]
            ends = labels.reach(of["value"], of["families_low"], of["families_high"])
            axes.errorbar(of["value"], down, xerr=ends, linewidth=1, **look)
            others = table[table["protocol"] == protocol]
            ceilings = others[(others["statistic"] == TASK_CEILING) & others["first"].isin(order)]
            ceilings = ceilings.dropna(subset=["value"])
            axes.plot(ceilings["value"], [order.index(t) + shift for t in ceilings["first"]], "|",
                      color=look["color"], markersize=8, markeredgewidth=1.6)  # fmt: skip
            mean = others.loc[others["statistic"] == MEAN, "value"].iloc[0]
            axes.axvline(mean, color=look["color"], linestyle=":", linewidth=1)
        axes.plot([], [], "|", color="0.4", markersize=8, markeredgewidth=1.6,
                  label="ceiling")  # fmt: skip
        axes.plot([], [], ":", color="0.4", linewidth=1, label="mean of all pairs")
        axes.set_yticks(range(len(order)), [request.names[task] for task in order])
        axes.set_ylim(len(order) - 0.4, -0.6)
        axes.set_xlabel(f"mean tau-b with the other tasks, {labels.interval_over(rows)}")
        labels.rule(axes, "x")
        legend_below(fig, axes, 3)


FIGURE = Figure(
    name="agreement_by_task",
    asks=GridWords,
    draw=labels.drawn_from(TABLE, write_agreement_by_task),
)
