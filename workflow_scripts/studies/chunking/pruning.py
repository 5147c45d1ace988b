"""What leaving layers out costs in perplexity and saves in time."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import FORMATS, PALETTE, figure, save
from workflow_scripts.render.tables import write_table
from workflow_scripts.studies.chunking.frame import UNCHANGED, left_out, measured
from workflow_scripts.studies.chunking.latency import milliseconds, with_speed_up
from workflow_scripts.studies.chunking.perplexity import big

TITLE = "Pruned models"
NOTE = (
    "Layers left out, counted from 1; nothing trained. Perplexity ± standard error on wikitext. Time:"
    " median milliseconds ± half the distance between the quartiles for reading all prompts in"
    " batches of the smallest size; faster: than the unchanged model, which took turns."
)


def pruning_table(perplexities: pd.DataFrame, latencies: pd.DataFrame) -> pd.DataFrame:
    cost = measured(perplexities, "perplexity", varied=("aggregation", "difficulty"))
    cost = cost[(cost["task"] == "wikitext")].set_index(["model", "plan"])
    time = measured(latencies, "latency", varied=("way", "batch"))
    time = time[time["plan"].str.startswith("prune")].copy()
    time["batch"] = time["batch"].astype(int)
    time = with_speed_up(time, ["model", "plan", "batch"])
    time = time[(time["way"] != "unchanged") & (time["batch"] == time["batch"].min())]
    time = time.set_index(["model", "plan"])
    rows = []
    for model, plan in cost.index:
        if plan != UNCHANGED and not plan.startswith("prune"):
            continue
        found = time.loc[(model, plan)] if (model, plan) in time.index else {}
        rows.append(
            {
                "model": model,
                "left_out": left_out(plan) if plan != UNCHANGED else "",
                "perplexity": cost.loc[(model, plan), "perplexity"],
                "perplexity_stderr": cost.loc[(model, plan), "perplexity_stderr"],
                "n": cost.loc[(model, plan), "n"],
                **{
                    key: found.get(key)
                    for key in ("prefill_seconds", "prefill_seconds_spread", "prefill_faster")
                },
            }
        )
    numbers = ["prefill_seconds", "prefill_seconds_spread", "prefill_faster"]
    table = pd.DataFrame(rows)
    table[numbers] = table[numbers].apply(pd.to_numeric)
    return table.sort_values(["model", "perplexity"], ignore_index=True)


def write_pruning_table(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=_show)


def _show(table: pd.DataFrame) -> pd.DataFrame:
    timed = table["prefill_seconds"].notna()
    return pd.DataFrame(
        {
            "Model": table["model"],
            "Layers left out": table["left_out"].fillna("").replace("", "none"),
            "Perplexity": [
                f"{big(value)} ± {big(error)}"
                for value, error in zip(
                    table["perplexity"], table["perplexity_stderr"], strict=True
                )
            ],
            "n": [f"{n}" for n in table["n"]],
            "Time": pd.Series(milliseconds(table, "prefill")).where(timed),
            "Faster": pd.Series([f"{r:.2f}" for r in table["prefill_faster"]]).where(timed),
        }
    )


def write_pruning_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """One line per set of layers, best first: how many times the unchanged perplexity."""
    models = list(dict.fromkeys(table["model"]))
    shown = table.copy()
    shown["left_out"] = shown["left_out"].fillna("").replace("", "none")
    sets = list(dict.fromkeys(shown["left_out"]))
    with figure(width=6.5, height=1.2 + 0.28 * len(sets)) as (fig, axes):
        for at, model in enumerate(models):
            rows = shown[shown["model"] == model]
            axes.errorbar(
                rows["perplexity"],
                [sets.index(name) + 0.12 * at for name in rows["left_out"]],
                xerr=2 * rows["perplexity_stderr"],
                fmt="o",
                markersize=4.5,
                color=PALETTE[at % len(PALETTE)],
                label=model,
            )
            unchanged = rows.loc[rows["left_out"] == "none", "perplexity"]
            axes.axvline(unchanged.iloc[0], color=PALETTE[at % len(PALETTE)], linewidth=0.8)
        axes.set_yticks(range(len(sets)), sets)
        axes.set_ylim(len(sets) - 0.4, -0.6)
        axes.set_xscale("log")
        for axis_ticks in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
            axis_ticks(lambda value, _: big(value))
        axes.set_xlabel("perplexity on wikitext, with two standard errors each way")
        axes.set_ylabel("layers left out")
        axes.tick_params(axis="x", which="both", labelrotation=30)
        axes.grid(axis="x", which="both", color="0.9", linewidth=0.6)
        axes.set_axisbelow(True)
        fig.legend(*axes.get_legend_handles_labels(), loc="outside lower center")
        for path, kind in ((pdf, FORMATS[0]), (png, FORMATS[1])):
            save(fig, path, kind)
