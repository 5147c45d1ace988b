"""Which plans of a model are worth training: what they are predicted to cost, and what they do cost."""

from math import exp, sqrt
from pathlib import Path

import pandas as pd

from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.core.items import read_items
from workflow_scripts.core.plan_proposals import CHECK, losses_of, proposals
from workflow_scripts.core.plan_search import KINDS, Prediction, front
from workflow_scripts.core.records import Record, whole_record
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import fixed, numbers, perplexity, shown, with_errors
from workflow_scripts.studies.chunking.requests import SearchedModels

NOTE = (
    "Nothing trained. Depth: layers that run one after the other; speed-up: all layers over these. Chunks:"
    " layers side by side, the shared input plus what each chunk changed; pruned: layers left out."
    " Predicted: times the unchanged model's perplexity, from the measured cost of leaving out each layer"
    " and of setting each stretch of layers side by side. Perplexity ± standard error, and ratio to the"
    " unchanged model's, on text that the search did not read, over n windows or responses. Against even:"
    " the perplexity over that of the evenly spaced plan of the same kind and depth, ± standard error of"
    " the paired difference; below 1 is better. Front: the best predicted plan of a depth. A dash was not"
    " measured."
)
COLUMNS = columns(
    ("text", "model"),
    ("maybe", "kind"),
    ("text", "role"),
    ("whole", "depth"),
    ("number", "speed_up"),
    ("text", "plan"),
    ("number", "predicted perplexity perplexity_stderr ratio against_even against_even_stderr"),
    ("whole", "n"),
)
_ORDER = ("unchanged", "front", "proposed", "evenly spaced", "random")


def search_table(
    model: str, record: Record, pieces: pd.DataFrame, request: SearchedModels
) -> pd.DataFrame:
    """One row per plan and reason for it. `pieces`: nats and tokens of the checks, by plan and piece."""
    layers = record.protocol.generation["layers"]
    prediction = Prediction(layers, losses_of(record.metrics))
    depths = request.search.depths(layers)
    found = proposals(prediction, depths, request.search, request.seed)
    rows = [{"role": "unchanged", "depth": layers, "plan": UNCHANGED, "predicted": 1.0}]
    rows += [_row(one.role, one.candidate, prediction) for one in found]
    proposed = {row["plan"] for row in rows if row["role"] == "proposed"}
    rows += [
        _row("front", one, prediction)
        for kind in KINDS
        for one in (front(prediction, kind, min(depths)) if depths else ())
        if one.name not in proposed
    ]
    table = pd.DataFrame(rows)
    even = table[table["role"] == "evenly spaced"].set_index(["kind", "depth"])["plan"]
    for at, row in table[table["role"] == "proposed"].iterrows():
        other = pieces.xs(even[row["kind"], row["depth"]], level="plan")
        ratio, error = against(pieces.xs(row["plan"], level="plan"), other)
        table.loc[at, ["against_even", "against_even_stderr"]] = ratio, error
    checked = {
        metric.condition.plan: metric
        for metric in record.metrics
        if metric.name == "perplexity" and metric.subset == CHECK and metric.condition
    }
    measured = table["plan"].map(checked)
    table["perplexity"] = [getattr(metric, "value", None) for metric in measured]
    table["perplexity_stderr"] = [getattr(metric, "stderr", None) for metric in measured]
    table["n"] = [getattr(metric, "n", None) for metric in measured]
    table["ratio"] = table["perplexity"] / checked[UNCHANGED].value
    table["speed_up"] = layers / table["depth"]
    order = table["role"].map(_ORDER.index)
    table = table.assign(model=model, order=order).sort_values(
        ["kind", "depth", "order", "predicted"],
        ascending=[True, False, True, True],
        kind="stable",
        na_position="first",
    )
    return COLUMNS.typed(table.drop_duplicates(["kind", "plan", "role"]))


def _row(role: str, candidate, prediction: Prediction) -> dict:
    return {
        **{"kind": candidate.kind, "role": role, "depth": candidate.depth},
        **{"plan": candidate.name, "predicted": exp(prediction.of(candidate))},
    }


def against(ours: pd.DataFrame, theirs: pd.DataFrame) -> tuple[float, float | None]:
    """The perplexity of one plan over another's on the same pieces, and its standard error."""
    difference, tokens = ours["nats"] - theirs["nats"], ours["tokens"]
    mean, n = difference.sum() / tokens.sum(), len(tokens)
    if n < 2:
        return exp(mean), None
    spread = ((difference - mean * tokens) ** 2).sum() / (n - 1)
    return exp(mean), exp(mean) * sqrt(spread * n) / tokens.sum()


def _pieces(path: Path) -> pd.DataFrame:
    """What each piece of the checking text cost in each plan, by plan and the piece's number."""
    rows = [row for row in read_items(path).to_pylist() if row["subset"] == CHECK]
    return pd.DataFrame(
        {
            "plan": row["condition"]["plan"],
            "piece": int(row["item"].rsplit("/", 1)[1]),
            **dict(row["scores"]),
        }
        for row in rows
    ).set_index(["plan", "piece"])


def _make(inputs: Inputs, request: SearchedModels) -> pd.DataFrame:
    made = [
        search_table(model, whole_record(path), _pieces(path.with_suffix(".parquet")), request)
        for model, path in zip(request.models, inputs["records"], strict=True)
    ]
    return pd.concat(made) if made else COLUMNS.typed(pd.DataFrame(columns=list(COLUMNS.named)))


def times(ratio: float) -> str:
    return fixed(ratio, ".2f" if ratio < 1000 else ",.0f")


def _show(table: pd.DataFrame, _: SearchedModels) -> ShownColumns:
    """Without the random plans, which nobody would train."""
    table = table[table["role"] != "random"]
    return {
        "Model": table["model"],
        "Kind": table["kind"],
        "Depth": numbers(table["depth"], "d"),
        "Speed-up": numbers(table["speed_up"], ".2f"),
        "Plan": table["plan"],
        "Role": table["role"],
        "Predicted": shown(table["predicted"], times),
        "Perplexity": with_errors(table["perplexity"], table["perplexity_stderr"], perplexity),
        "Ratio": shown(table["ratio"], times),
        "Against even": with_errors(table["against_even"], table["against_even_stderr"], times),
        "n": numbers(table["n"], "d"),
    }


TABLE = Table(
    name="chunking_search",
    title="Plans that are worth training",
    note=NOTE,
    columns=COLUMNS,
    asks=SearchedModels,
    make=_make,
    show=_show,
)
