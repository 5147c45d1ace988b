"""What each chunked checkpoint costs and gives, in one line: size, MMLU, perplexity, time."""

from dataclasses import replace

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.frames import Cells, cells, checkpoint_of, columns
from workflow_scripts.render.tables import ShownColumns, Table, read_table
from workflow_scripts.render.text import millisecond, numbers, perplexity, shown, with_errors
from workflow_scripts.studies.chunking.requests import SizedCheckpoints
from workflow_scripts.studies.mmlu.by_subject import METRICS, MICRO

NOTE = (
    "One line per model and checkpoint. Depth: layers that run one after the other. MMLU: share of all"
    " questions right ± standard error, by generated letter as it is (em), after HELM's normalisation"
    " (qem), and by the likeliest letter (acc); floor: the better of a fixed and a random answer, which"
    " a score must clear by two standard errors to show anything. Perplexity of the texts named; lower"
    " is better. Token: median milliseconds to write one, its chunks run as one, in batches of the"
    " smallest size measured, on one device; faster: than the unchanged model, which took turns. Times are"
    " of the checkpoint's layers, aggregation and adapters before training. A dash was not measured."
)
_TEXTS = ("wikitext", "magpie")
COLUMNS = columns(
    ("text", "model variant"),
    ("whole", "depth parameters n"),
    ("number", "floor"),
    ("number", " ".join(f"{metric}{of}" for metric in METRICS for of in ("", "_stderr", "_z"))),
    ("number", " ".join(f"{text}{of}" for text in _TEXTS for of in ("", "_stderr"))),
    ("number", "batch token_seconds token_faster"),
)


def chunking_summary(request: SizedCheckpoints, **made: pd.DataFrame) -> pd.DataFrame:
    """One row per checkpoint, in the order given.

    `made` are those of the tables it is made from that the config asks for.
    """
    found = {name: table.to_dict("records") for name, table in made.items()}
    sizes = {checkpoint_of(row): row for row in found.get("plans", [])}
    texts = {checkpoint_of(row): row for row in found.get("stages", [])}
    scores = {checkpoint_of(row): row for row in found.get("mmlu", []) if row["subject"] == MICRO}
    times = times_of_a_token(made["latency"]) if "latency" in made else {}
    rows = []
    for checkpoint in request.checkpoints:
        id = CheckpointId.parse(checkpoint.id)
        plan = str(replace(id, stages=()))
        size = sizes.get(plan, {})
        known = not id.variant or plan in sizes
        rows.append(
            {
                **times.get(str(id.timed_variant), {}),
                **{"n": None, **scores.get(str(id), {})},  # questions, and not rounds of a time
                "model": id.model,
                "variant": id.variant,
                "depth": size.get("depth", checkpoint.layers if known else None),
                "parameters": size.get("parameters", checkpoint.parameters if known else None),
                **_perplexities(texts.get(str(id), {})),
            }
        )
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))


def times_of_a_token(latency: pd.DataFrame) -> dict[str, Cells]:
    """Of each variant that was timed, run as one on one device, in the smallest batch: one user waits for one
    answer."""
    fused = latency[(latency["way"] == "fused") & (latency["devices"] == 1)]
    rows = cells(fused[fused["batch"] == fused["batch"].min()])
    times = ("batch", "token_seconds", "token_faster")
    return {checkpoint_of(row): {name: row[name] for name in times} for row in rows}


def _perplexities(text: dict) -> dict[str, float | None]:
    """The perplexity of wikitext, and that of Magpie's easiest responses: its first column of that name."""
    found = {}
    for name in _TEXTS:
        column = next((c for c in text if c.split(" ")[0] == name), None)
        found[name], found[f"{name}_stderr"] = text.get(column), text.get(f"{column} stderr")
    return found


def _show(table: pd.DataFrame, _: SizedCheckpoints) -> ShownColumns:
    return {
        "Model": table["model"],
        "Variant": table["variant"].replace("", "as it is"),
        "Depth": numbers(table["depth"], "d"),
        "Parameters": numbers(table["parameters"], ",d"),
        "Floor": numbers(table["floor"]),
        **{
            metric: with_errors(table[metric], table[f"{metric}_stderr"])
            for metric in ("em", "qem", "acc")
        },
        **{text.capitalize(): shown(table[text], perplexity) for text in _TEXTS},
        "Token (ms)": shown(table["token_seconds"], millisecond),
        "Faster": numbers(table["token_faster"], ".2f"),
    }


TABLE = Table(
    name="chunking_summary",
    title="Chunked checkpoints, summed up",
    note=NOTE,
    columns=COLUMNS,
    asks=SizedCheckpoints,
    make=lambda inputs, request: chunking_summary(
        request,
        **{
            name: read_table(inputs.one(name))
            for name in ("plans", "mmlu", "stages", "latency")
            if inputs.get(name)
        },
    ),
    show=_show,
)
