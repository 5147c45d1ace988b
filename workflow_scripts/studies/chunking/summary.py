"""What each chunked checkpoint costs and gives, in one line: size, MMLU, perplexity, time."""

from pathlib import Path

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.tables import write_table
from workflow_scripts.studies.chunking.perplexity import big
from workflow_scripts.studies.mmlu.by_subject import METRICS, MICRO

TITLE = "Chunked checkpoints, summed up"
NOTE = (
    "One line per model and checkpoint. Depth: layers that run one after the other. MMLU: share of all"
    " questions right ± standard error, by generated letter as it is (em), after HELM's normalisation"
    " (qem), and by the likeliest letter (acc); floor: the better of a fixed and a random answer, which"
    " a score must clear by two standard errors to show anything. Perplexity of the texts named; lower"
    " is better. Token: median milliseconds to write one, its chunks run as one, in batches of the"
    " smallest size measured; faster: than the unchanged model, which took turns. Times are of the"
    " plan, which training does not change. A dash was not measured."
)
_TEXTS = ("wikitext", "magpie")


def chunking_summary(
    checkpoints: list[dict],
    *,
    plans: pd.DataFrame | None = None,
    mmlu: pd.DataFrame | None = None,
    stages: pd.DataFrame | None = None,
    latency: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """One row per checkpoint, in the order given: its `id` and its base's `parameters` and `layers`.

    The other tables are those of the study, as their CSV files have them, or None where the config
    asks for none of it.
    """
    sizes = _rows(plans, ["model", "variant"])
    scores = _rows(None if mmlu is None else mmlu[mmlu["subject"] == MICRO], ["model", "variant"])
    texts = _rows(stages, ["model", "variant"])
    times = _fastest_way(latency)
    rows = []
    for checkpoint in checkpoints:
        id = CheckpointId.parse(checkpoint["id"])
        plan = CheckpointId(id.model, id.plan, id.mode)
        size = sizes.get((id.model, plan.variant), {})
        known = not id.variant or (id.model, plan.variant) in sizes
        score, text = (found.get((id.model, id.variant), {}) for found in (scores, texts))
        time = times.get((id.model, id.plan), {}) if id.plan and not id.mode else {}
        rows.append(
            {
                "model": id.model,
                "variant": id.variant,
                "depth": size.get("depth", checkpoint["layers"] if known else None),
                "parameters": size.get("parameters", checkpoint["parameters"] if known else None),
                "n": score.get("n"),
                "floor": score.get("floor"),
                **{
                    f"{metric}{suffix}": score.get(f"{metric}{suffix}")
                    for metric in METRICS
                    for suffix in ("", "_stderr", "_z")
                },
                **_perplexities(text),
                **{key: time.get(key) for key in ("batch", "token_seconds", "token_faster")},
            }
        )
    table = pd.DataFrame(rows)
    numbers = table.columns.drop(["model", "variant"])
    table[numbers] = table[numbers].apply(pd.to_numeric)
    return table


def _rows(table: pd.DataFrame | None, keys: list[str]) -> dict[tuple, dict]:
    if table is None:
        return {}
    table = table.fillna({"variant": ""})  # read from CSV, no variant is no text
    return {tuple(row[key] for key in keys): row for row in table.to_dict("records")}


def _fastest_way(latency: pd.DataFrame | None) -> dict[tuple, dict]:
    """By model and plan: the fused way in the smallest batch, where one user waits for one answer."""
    if latency is None:
        return {}
    fused = latency[(latency["way"] == "fused") & (latency["batch"] == latency["batch"].min())]
    return _rows(fused, ["model", "plan"])


def _perplexities(text: dict) -> dict[str, float | None]:
    """Of wikitext, and of Magpie's easiest responses, which stand in the first column of that name."""
    found = {}
    for name in _TEXTS:
        columns = [c for c in text if c.split(" ")[0] == name and not c.endswith(" stderr")]
        value = text[columns[0]] if columns else None
        found[name] = value
        found[f"{name}_stderr"] = text.get(f"{columns[0]} stderr") if columns else None
    return found


def write_summary_table(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=_show)


def _show(table: pd.DataFrame) -> pd.DataFrame:
    def column(name: str, show) -> list[str | None]:
        return [None if pd.isna(value) else show(value) for value in table[name]]

    def score(metric: str) -> list[str | None]:
        errors = table[f"{metric}_stderr"]
        return [
            None if pd.isna(value) else f"{value:.3f}" + ("" if pd.isna(e) else f" ± {e:.3f}")
            for value, e in zip(table[metric], errors, strict=True)
        ]

    return pd.DataFrame(
        {
            "Model": table["model"],
            "Variant": table["variant"].replace("", "as it is"),
            "Depth": column("depth", "{:.0f}".format),
            "Parameters": column("parameters", "{:,.0f}".format),
            "Floor": column("floor", "{:.3f}".format),
            **{metric: score(metric) for metric in ("em", "qem", "acc")},
            "Wikitext": column("wikitext", big),
            "Magpie": column("magpie", big),
            "Token (ms)": column("token_seconds", lambda seconds: f"{1000 * seconds:.1f}"),
            "Faster": column("token_faster", "{:.2f}".format),
        }
    )
