"""What plans that a search proposes are expected to keep after training, from plans that were trained.

A search predicts what a plan costs untrained, in nats a token. What is left of that cost after training was measured
for some plans; that share, as it was in those of the same kind, is expected of the others.
"""

from collections import defaultdict
from math import exp, log
from pathlib import Path
from typing import cast

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.plan import BOTH_SIDES, DEFAULT_MODE, Mode
from workflow_scripts.core.plan_proposals import losses_of, proposals
from workflow_scripts.core.plan_search import Candidate, Prediction, left_out, side_by_side
from workflow_scripts.core.records import whole_record
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers, with_errors
from workflow_scripts.stats.prediction import one_more
from workflow_scripts.studies.chunking.frame import TEXT
from workflow_scripts.studies.chunking.requests import SearchedModels
from workflow_scripts.studies.recovery.kept import CHUNKS, LEFT_OUT
from workflow_scripts.studies.recovery.kept import TABLE as KEPT

NOTE = (
    "Kept: the unchanged model's perplexity of wikitext over the plan's, after training on so many tokens."
    " Expected: the cost that a search predicts of the untrained plan, times the share of it that was left in the"
    " n other plans of the same kind, aggregation and adapters that were trained, with the interval in which one more plan would lie 19 of 20"
    " times. A plan that was trained itself is expected without its own share. Role: evenly spaced is what one"
    " would take without looking, two chunks in the middle or layers at even distances. A dash has no other plan"
    " of its kind; an interval takes two."
)
COLUMNS = columns(
    ("text", "model kind"),
    ("text", "learns_from"),
    ("whole", "tokens depth"),
    ("number", "speed_up"),
    ("text", "plan role"),
    ("number", "expected low high"),
    ("whole", "n"),
    ("number", "kept kept_stderr"),
)
_LEAST = 0.01  # nats a token
_MOST = 700.0  # whose exponential is a number
_KINDS = {"chunks": CHUNKS, "pruned": LEFT_OUT}


def candidate_of(layers: int, id: CheckpointId) -> Candidate | None:
    """As a search knows a trained plan; None where it knows no plans of that mode."""
    if id.plan is None or not (id.mode or DEFAULT_MODE).endswith(BOTH_SIDES):
        return None
    if id.plan.startswith("prune"):
        return left_out(layers, [int(n) - 1 for n in id.plan.removeprefix("prune").split("-")])
    chunks, size = map(int, id.plan.removeprefix("k").split("m"))
    before = int(id.after.removeprefix("after")) if id.after else (layers - chunks * size) // 2
    mode = DEFAULT_MODE if id.mode is None else cast(Mode, f"sequential{BOTH_SIDES}")
    return side_by_side(layers, chunks, size, before, mode)


def expected_table(
    model: str, prediction: Prediction, kept: pd.DataFrame, request: SearchedModels
) -> pd.DataFrame:
    """One row per plan, trained or proposed, and number of tokens."""
    layers = prediction.layers
    cut = kept[(kept["model"] == model) & (kept["measure"] == TEXT) & (kept["tokens"] > 0)]
    trained = {}
    forms: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for row in cut.dropna(subset=["kept"]).itertuples():
        id = CheckpointId.parse(f"{row.model}{row.variant}")
        candidate = candidate_of(layers, id)
        if candidate is not None and row.kind in _KINDS.values():
            form = "-".join(filter(None, (id.aggregation, id.adapters)))
            forms[candidate.kind][form] = None
            way = int(row.tokens), row.learns_from
            trained[(candidate, form), way] = row.kept, row.kept_stderr
    found = proposals(prediction, request.search.depths(layers), request.search, request.seed)
    roles: dict[tuple[Candidate, str], str] = {
        (one.candidate, form): one.role
        for one in reversed(found)
        for form in forms[one.candidate.kind] or [""]
        if one.role != "random"
    }
    roles |= {one: roles.get(one, "trained") for one, _ in trained}
    rows = []
    for way in sorted({way for _, way in trained}):
        for (candidate, form), role in roles.items():
            others = {
                other: of[0]
                for ((other, its_form), its), of in trained.items()
                if (its, its_form, other.kind) == (way, form, candidate.kind) and other != candidate
            }
            mark = f"-{form}" if form and len(forms[candidate.kind]) > 1 else ""
            costs = [(prediction.of(other), one) for other, one in others.items()]
            of_own = trained.get(((candidate, form), way), (None, None))
            rows.append(
                {
                    **{"model": model, "kind": _KINDS[candidate.kind]},
                    **{"tokens": way[0], "learns_from": way[1]},
                    **{"depth": candidate.depth, "speed_up": layers / candidate.depth},
                    **{"plan": candidate.name + mark, "role": role, "n": len(costs)},
                    **_expected(prediction.of(candidate), costs),
                    **{"kept": of_own[0], "kept_stderr": of_own[1]},
                }
            )
    table = pd.DataFrame(rows, columns=list(COLUMNS.named))
    order = ["kind", "learns_from", "tokens", "depth", "expected"]
    return COLUMNS.typed(table.sort_values(order, ascending=[True, True, True, False, False]))


def _expected(cost: float, others: list[tuple[float, float]]) -> dict[str, float | None]:
    """`others` are what each was predicted to cost, in nats, and what it kept.

    What was predicted to cost next to nothing says nothing of how much of a cost comes back.
    """
    shares = [-log(kept) / predicted for predicted, kept in others if predicted > _LEAST]
    if not shares or cost <= _LEAST:
        return {}
    share, either_way = one_more(shares)
    low, high = (None, None) if either_way is None else (share + either_way, share - either_way)
    found = {"expected": share, "low": low, "high": high}
    return {
        name: None if one is None else exp(min(-cost * one, _MOST)) for name, one in found.items()
    }


def _make(inputs: Inputs, request: SearchedModels) -> pd.DataFrame:
    kept = KEPT.read(inputs.one("kept"))
    made = []
    for model, path in zip(request.models, inputs["records"], strict=True):
        record = whole_record(Path(path))
        prediction = Prediction(record.protocol.generation["layers"], losses_of(record.metrics))
        made.append(expected_table(model, prediction, kept, request))
    return pd.concat(made) if made else COLUMNS.typed(pd.DataFrame(columns=list(COLUMNS.named)))


def _show(table: pd.DataFrame, _: SearchedModels) -> ShownColumns:
    between = [
        None if pd.isna(row.low) else f"{row.low:.3f} to {row.high:.3f}"
        for row in table.itertuples()
    ]
    return {
        "Model": table["model"],
        "Kind": table["kind"],
        "Learns from": table["learns_from"],
        "Tokens": numbers(table["tokens"], ",d"),
        "Speed-up": numbers(table["speed_up"], ".2f"),
        "Plan": table["plan"],
        "Role": table["role"],
        "Expected": numbers(table["expected"]),
        "Between": between,
        "n": numbers(table["n"], "d"),
        "Kept": with_errors(table["kept"], table["kept_stderr"]),
    }


TABLE = Table(
    name="recovery_expected",
    title="What plans are expected to keep after training",
    note=NOTE,
    columns=COLUMNS,
    asks=SearchedModels,
    make=_make,
    show=_show,
)
