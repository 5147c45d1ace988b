"""How much an untrained model loses when its layers are cut into chunks."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import FORMATS, PALETTE, figure, save
from workflow_scripts.render.tables import write_table
from workflow_scripts.studies.chunking.frame import UNCHANGED, chunks_of, measured

TITLE = "Perplexity of untrained sequential plans"
NOTE = (
    "Perplexity ± standard error over n windows of wikitext, or n responses of Magpie, in chunks of"
    " consecutive layers; the same weights throughout, nothing trained. Aggregation mean: the mean"
    " of the chunks' outputs, as published; residual: the shared input plus what every chunk"
    " changed. Ratio: to the unchanged model."
)


def perplexity_table(scores: pd.DataFrame) -> pd.DataFrame:
    rows = measured(scores, "perplexity", varied=("aggregation", "difficulty"))
    # One text for each difficulty: magpie (easy).
    rows["task"] += (" (" + rows["difficulty"] + ")").fillna("")
    rows = rows[~rows["plan"].str.startswith("prune")].copy()
    rows["chunks"] = rows["plan"].map(chunks_of)
    unchanged = rows[rows["plan"] == UNCHANGED].set_index(["model", "task"])["perplexity"]
    keys = pd.MultiIndex.from_frame(rows[["model", "task"]])
    rows["ratio"] = rows["perplexity"].to_numpy() / unchanged.loc[keys].to_numpy()
    columns = ["model", "task", "chunks", "plan", "aggregation", "perplexity", "perplexity_stderr"]
    return rows.sort_values(["model", "task", "aggregation", "chunks"], na_position="first")[
        [*columns, "bits_per_byte", "ratio", "n"]
    ].reset_index(drop=True)


def write_perplexity_table(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=_show)


def _show(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Model": table["model"],
            "Text": table["task"],
            "Chunks": [f"{k}" for k in table["chunks"]],
            "Plan": table["plan"],
            "Aggregation": table["aggregation"],
            "Perplexity": [
                big(value) + ("" if pd.isna(error) else f" ± {big(error)}")
                for value, error in zip(
                    table["perplexity"], table["perplexity_stderr"], strict=True
                )
            ],
            "Bits per byte": [f"{b:.3f}" for b in table["bits_per_byte"]],
            "Ratio": [big(r) for r in table["ratio"]],
            "n": [f"{n}" for n in table["n"]],
        }
    )


def big(value: float) -> str:
    """Four digits or so, whatever the size: an untrained plan's perplexity may be millions."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}" if value >= 1 else f"{value:.2f}"


def write_perplexity_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Chunks across, times the unchanged perplexity up, both in doublings; a line per aggregation."""
    texts = list(dict.fromkeys(table["task"]))
    aggregations = list(dict.fromkeys(table["aggregation"].dropna()))
    several = table["model"].nunique() > 1
    with figure(width=6.5, height=3.6) as (fig, axes):
        for model in dict.fromkeys(table["model"]):
            for at, aggregation in enumerate(aggregations):
                for line, text in enumerate(texts):
                    chosen = (table["model"] == model) & (table["task"] == text)
                    rows = table[
                        chosen & ((table["aggregation"] == aggregation) | (table["chunks"] == 1))
                    ].sort_values("chunks")
                    axes.plot(
                        rows["chunks"],
                        rows["ratio"],
                        color=PALETTE[at % len(PALETTE)],
                        linestyle=("-", "--", ":")[line % 3],
                        marker="os^D"[line % 4],
                        markersize=4,
                        label=" · ".join([model] * several + [aggregation, text]),
                    )
        axes.axhline(1, color="0.6", linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        ticks = sorted(set(table["chunks"]))
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("chunks of consecutive layers, side by side")
        axes.set_ylabel("perplexity, times the unchanged model's")
        axes.grid(color="0.9", linewidth=0.6)
        axes.set_axisbelow(True)
        fig.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        for path, kind in ((pdf, FORMATS[0]), (png, FORMATS[1])):
            save(fig, path, kind)
