"""Figure: how well each task agrees with the others, by protocol, beside what its noise allows."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import Figure, say_empty
from workflow_scripts.settings.ranking import TasksRequest
from workflow_scripts.studies.harmony.agreement import TABLE
from workflow_scripts.studies.harmony.frame import MEAN, TASK, TASK_CEILING
from workflow_scripts.studies.harmony.labels import (
    COLOURS,
    MARKERS,
    drawing,
    drawn_from,
    reach,
    rule,
    shown_protocols,
    titles,
)


def write_agreement_by_task(table: pd.DataFrame, asked: TasksRequest, pdf: Path, png: Path) -> None:
    """Tasks down, those of highest agreement first; a tick is the ceiling, a dotted line the mean."""
    rows = table[table["statistic"] == TASK].dropna(subset=["value"])
    protocols, said = shown_protocols(rows), titles(rows)
    with drawing(pdf, png, 6.5, 1.5 + 0.26 * max(rows["first"].nunique(), 3)) as (fig, axes):
        if not protocols:
            say_empty(axes, "No two tasks have scores of the same models.")
            return
        last = rows[rows["protocol"] == protocols[-1]].set_index("first")["value"]
        order = list(dict.fromkeys([*last.sort_values(ascending=False).index, *rows["first"]]))
        for at, protocol in enumerate(protocols):
            shift = (at - (len(protocols) - 1) / 2) * 0.24
            of = rows[rows["protocol"] == protocol]
            down = [order.index(task) + shift for task in of["first"]]
            ends = reach(of["value"], of["models_low"], of["models_high"])
            axes.errorbar(of["value"], down, xerr=ends, fmt=MARKERS[protocol], color=COLOURS[protocol], markersize=4.5,
                          linewidth=1, label=said[protocol])  # fmt: skip
            ceilings = table[(table["statistic"] == TASK_CEILING) & (table["protocol"] == protocol)]
            ceilings = ceilings[ceilings["first"].isin(order)].dropna(subset=["value"])
            axes.plot(ceilings["value"], [order.index(t) + shift for t in ceilings["first"]], "|",
                      color=COLOURS[protocol], markersize=8, markeredgewidth=1.6)  # fmt: skip
            mean = table[(table["statistic"] == MEAN) & (table["protocol"] == protocol)]["value"]
            axes.axvline(mean.iloc[0], color=COLOURS[protocol], linestyle=":", linewidth=1)
        axes.plot([], [], "|", color="0.4", markersize=8, markeredgewidth=1.6,
                  label="noise ceiling")  # fmt: skip
        axes.plot([], [], ":", color="0.4", linewidth=1, label="mean of all pairs")
        axes.set_yticks(range(len(order)), [asked.names[task] for task in order])
        axes.set_ylim(len(order) - 0.4, -0.6)
        axes.set_xlabel("mean tau-b with the other tasks, with its 95% interval over models")
        rule(axes, "x")
        fig.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)


FIGURE = Figure(
    name="harmony_agreement_by_task",
    asks=TasksRequest,
    draw=drawn_from(TABLE, write_agreement_by_task),
)
