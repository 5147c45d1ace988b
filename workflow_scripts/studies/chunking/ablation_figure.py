"""Draw what each choice of a chunked checkpoint buys: its distance from the usual form of its layers."""

from pathlib import Path
from textwrap import wrap

import pandas as pd
from matplotlib.lines import Line2D

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.figures import PALETTE, drawing, figure_of, rule, say_empty
from workflow_scripts.studies.chunking.ablation import TABLE, is_sure, of_choices
from workflow_scripts.studies.mmlu.by_subject import METRICS
from workflow_scripts.studies.training.stages import UNTRAINED

_STAGES = {UNTRAINED: "untrained", "cpt": "continued pre-training", "sft": "then fine-tuning"}
_COLOURS = dict(zip(_STAGES, PALETTE, strict=False))
_HOLLOW = {"color": "0.4", "marker": "o", "markerfacecolor": "white", "linestyle": "none"}
_LABEL_WIDTH = 30  # characters beside a row


def write_ablation_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Choices down, measures across, a colour a stage; on the right of the line is always better."""
    table = of_choices(table)
    ids = [CheckpointId.parse(f"{row.model}{row.variant}") for row in table.itertuples()]
    table = table.assign(layers=[str(id.layout) for id in ids])
    rows = list(dict.fromkeys(zip(table["layers"], table["changed"], strict=True)))
    measures = list(dict.fromkeys(table["measure"]))
    size = 3.0 + 1.75 * max(2, len(measures)), 1.5 + 0.42 * max(3, len(rows))
    with drawing(pdf, png, *size) as (fig, axes):
        if table.empty:
            say_empty(axes, "No two checkpoints of the same layers and stage could be compared.")
            return
        axes.remove()
        panels = fig.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for panel, measure in zip(panels, measures, strict=True):
            _draw(panel, table[table["measure"] == measure], rows, measure)
        panels[0].set_yticks(range(len(rows)), _labels(rows), fontsize=7.5)
        panels[0].set_ylim(len(rows) - 0.5, -0.5)
        stages = [stage for stage in _STAGES if stage in set(table["stage"])]
        known = [Line2D([], [], color=_COLOURS[s], marker="o", label=_STAGES[s]) for s in stages]
        hollow = Line2D(
            [], [], **_HOLLOW, label="hollow: other texts and questions may not show it"
        )
        fig.legend(handles=[*known, hollow], loc="outside lower center", ncols=4)


def _draw(panel, table: pd.DataFrame, rows: list[tuple[str, str]], measure: str) -> None:
    of_mmlu = measure in METRICS
    # Lower is better of perplexity: turned round, so that one direction is better in every panel.
    sign = 100 if of_mmlu else -1
    for at, stage in enumerate(_STAGES):
        found = table[table["stage"] == stage]
        for sure in (True, False):
            drawn = found[[is_sure(p) is sure for p in found["p_holm"]]]
            if drawn.empty:
                continue
            keys = zip(drawn["layers"], drawn["changed"], strict=True)
            panel.errorbar(
                sign * drawn["difference"],
                [rows.index(key) + 0.22 * (at - 1) for key in keys],
                xerr=2 * abs(sign) * drawn["difference_stderr"].fillna(0),
                fmt="o",
                markersize=4.5,
                capsize=2,
                linewidth=1,
                color=_COLOURS[stage],
                **({} if sure else {"markerfacecolor": "white"}),
            )
    panel.axvline(0, color="0.4", linewidth=0.8, zorder=0)
    rule(panel, "x", "0.92")
    panel.tick_params(axis="y", length=0)
    panel.set_title(f"MMLU, {measure}" if of_mmlu else measure, fontsize=8.5)
    panel.set_xlabel("points gained" if of_mmlu else "nats per token saved", fontsize=8)


def _labels(rows: list[tuple[str, str]]) -> list[str]:
    """The model's name where there are several, the plan, and what is otherwise."""
    ids = [CheckpointId.parse(layers) for layers, _ in rows]
    several = len({id.model for id in ids}) > 1
    names = [
        f"{id.model if several else ''}{id.variant}: {changed}"
        for id, (_, changed) in zip(ids, rows, strict=True)
    ]
    return ["\n".join(wrap(name, _LABEL_WIDTH, break_on_hyphens=False)) for name in names]


FIGURE = figure_of(TABLE, write_ablation_figure)
