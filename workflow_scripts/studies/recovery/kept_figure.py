"""Figure: what is kept of the unchanged model's quality against how much faster a cut model writes."""

from pathlib import Path

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.figures import (
    drawing,
    figure_of,
    legend_below,
    model_colours,
    rule,
    say_empty,
)
from workflow_scripts.studies.recovery.kept import AS_IT_IS, CHUNKS, LEFT_OUT, TABLE, form_of

_STYLES = {
    CHUNKS: {"linestyle": "-", "marker": "o"},
    LEFT_OUT: {"linestyle": "--", "marker": "s"},
    AS_IT_IS: {"linestyle": "", "marker": "D"},  # trained likewise
}
_FILLED = ("full", "none", "left", "bottom")  # by what they learn from, where that differs
_MARKERS = ("o", "^", "v", "p")  # of chunks by their form, where that differs
_NO_SHARE = "No share is kept of a score of all items together, or of what was not measured."


def write_kept_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """A row a model, a panel a measure."""
    models, measures = (list(dict.fromkeys(table[name])) for name in ("model", "measure"))
    width, height = 0.4 + 2.6 * len(measures), 0.9 + 2.7 * len(models)
    rows, columns = len(models), len(measures)
    with drawing(pdf, png, width, height, nrows=rows, ncols=columns, squeeze=False) as (
        fig,
        panels,
    ):
        drawn = []
        for row, model in zip(panels, models, strict=True):
            for axes, measure in zip(row, measures, strict=True):
                of = table[(table["model"] == model) & (table["measure"] == measure)]
                if of["kept"].isna().all():
                    say_empty(axes, _NO_SHARE)
                else:
                    _draw(axes, of)
                    drawn.append(axes)
                axes.set_title(f"{model}: {measure}" if len(models) > 1 else measure, fontsize=8.5)
        for axes in panels[-1]:
            axes.set_xlabel("times as fast in writing")
        for row in panels:
            row[0].set_ylabel("kept of the unchanged model's")
        if drawn:
            legend_below(fig, drawn[0], 4)


def _draw(axes, rows: pd.DataFrame) -> None:
    unchanged = rows[(rows["kind"] == AS_IT_IS) & (rows["variant"] == "")].iloc[0]
    own = 2 * unchanged["stderr"] / unchanged["value"]
    if pd.notna(own):
        axes.axhspan(1 - own, 1 + own, color="0.9", zorder=0)
        axes.axhline(1, color="0.6", linewidth=0.8, zorder=0)
    if pd.notna(unchanged["floor"]):
        axes.axhline(
            unchanged["floor"] / unchanged["value"], color="0.4", linestyle=":", linewidth=1
        )
    cut = rows[rows["variant"] != ""].sort_values("faster")
    colours = model_colours(sorted(cut["tokens"].dropna().unique().tolist()))
    cut = cut.assign(learns_from=cut["learns_from"].fillna(""))
    teachers = [one for one in cut.loc[cut["kind"] != AS_IT_IS, "learns_from"].unique() if one]
    ids = [CheckpointId.parse(f"{row.model}{row.variant}") for row in cut.itertuples()]
    cut = cut.assign(form=list(map(form_of, ids)))
    forms = list(cut.loc[cut["kind"] == CHUNKS, "form"].unique())
    for (tokens, kind, teacher, form), line in cut.groupby(
        ["tokens", "kind", "learns_from", "form"]
    ):
        said = f"{kind}, {tokens:,} tokens" if tokens else f"{kind}, untrained"
        several = len(teachers) > 1 and teacher in teachers
        style = _STYLES[kind]
        if kind == CHUNKS and len(forms) > 1:
            said += f", {form}" if form else ""
            style = style | {"marker": _MARKERS[forms.index(form) % len(_MARKERS)]}
        axes.errorbar(
            line["faster"],
            line["kept"],
            yerr=2 * line["kept_stderr"].fillna(0),
            color=colours[tokens],
            **style,
            fillstyle=_FILLED[teachers.index(teacher) % len(_FILLED)] if several else "full",
            markersize=4,
            linewidth=1.2,
            capsize=2,
            label=f"{said}, from {teacher}" if several else said,
        )
    rule(axes, "both", "0.92")
    axes.set_ylim(bottom=0)


FIGURE = figure_of(TABLE, write_kept_figure)
