"""What plans that a search proposes are expected to keep after training, from plans that were trained.

A search predicts what a plan costs untrained, in nats a token. What is left of that cost after training was measured
for some plans; that share, as it was in those of the same kind, is expected of the others.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from math import exp, log
from pathlib import Path
from typing import NamedTuple, cast

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.plan import BOTH_SIDES, DEFAULT_MODE, Mode
from workflow_scripts.core.plan_proposals import losses_of, proposals
from workflow_scripts.core.plan_search import Candidate, Kind, Prediction, left_out, side_by_side
from workflow_scripts.core.records import whole_record
from workflow_scripts.render.frames import Cells, columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import intervals, number, numbers, shown, with_errors
from workflow_scripts.stats.prediction import one_more
from workflow_scripts.studies.chunking.frame import TEXT
from workflow_scripts.studies.chunking.requests import SearchedModels
from workflow_scripts.studies.recovery.kept import CHUNKS, LEFT_OUT, form_of
from workflow_scripts.studies.recovery.kept import TABLE as KEPT

NOTE = (
    "Kept: the unchanged model's perplexity of wikitext over the plan's, after training on so many tokens."
    " Expected: the cost that a search predicts of the untrained plan, times the share of it that was left in the"
    " n other plans of the same kind, aggregation and adapters that were trained, with the"
    " interval in which one more plan would lie 19 of 20"
    " times. A plan that was trained itself is expected without its own share. Role: evenly spaced is what one"
    " would take without looking, two chunks in the middle or layers at even distances. A dash has no other plan"
    " of its kind, or is predicted to cost no more than 0.01 nats a token, of which no share can be told (nor do such"
    " plans count among the others); an interval takes two. Where plans were trained in several forms, aggregation and"
    " adapters are behind the plan's name, and what is usual has no mark."
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
# Nats a token: of a cost that is next to nothing, or below it, no share can be told.
_LEAST = 0.01
_MOST = 700.0  # whose exponential is a number
_KINDS: dict[Kind, str] = {"chunks": CHUNKS, "pruned": LEFT_OUT}
Kept = dict[Candidate, tuple[float, float]]  # with its standard error


class TrainedPlan(NamedTuple):
    """What two trained plans have in common where one tells something of the other."""

    kind: Kind
    form: str
    tokens: int
    learns_from: str


Trained = dict[TrainedPlan, Kept]


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
    """One row per plan, trained or proposed, and training that plans of its kind had."""
    layers = prediction.layers
    trained = _trained(layers, kept[(kept["model"] == model) & (kept["measure"] == TEXT)])
    found = proposals(prediction, request.search.depths(layers), request.search, request.seed)
    roles = {one.candidate: one.role for one in reversed(found) if one.role != "random"}
    rows: list[Cells] = []
    for training in _trainings(trained):
        kind, form, tokens, learns_from = training
        here = trained.get(training, {})
        alike = [plans for of, plans in trained.items() if (of.kind, of.form) == (kind, form)]
        several = len({of.form for of in trained if of.kind == kind}) > 1
        for plan in _plans_of(kind, [roles, *alike]):
            own, error = here.get(plan, (None, None))
            rows.append(
                {
                    **{"model": model, "kind": _KINDS[kind]},
                    **{"tokens": tokens, "learns_from": learns_from},
                    **{"depth": plan.depth, "speed_up": layers / plan.depth},
                    "plan": f"{plan.name}-{form}" if several and form else plan.name,
                    "role": roles.get(plan, "trained"),
                    **_expected(plan, here, prediction),
                    **{"kept": own, "kept_stderr": error},
                }
            )
    table = pd.DataFrame(rows, columns=list(COLUMNS.named))
    order = ["kind", "learns_from", "tokens", "depth", "expected"]
    return COLUMNS.typed(table.sort_values(order, ascending=[True, True, True, False, False]))


def _trained(layers: int, kept: pd.DataFrame) -> Trained:
    """What each plan kept that was trained and measured, by its training."""
    found: defaultdict[TrainedPlan, Kept] = defaultdict(dict)
    for row in kept[kept["tokens"] > 0].dropna(subset=["kept"]).itertuples():
        id = CheckpointId.parse(f"{row.model}{row.variant}")
        plan = candidate_of(layers, id)
        if plan is not None and row.kind in _KINDS.values():
            training = TrainedPlan(plan.kind, form_of(id), int(row.tokens), row.learns_from)
            found[training][plan] = row.kept, row.kept_stderr
    return dict(found)


def _trainings(trained: Trained) -> list[TrainedPlan]:
    """Those that plans had, and of a kind of which none had one the same: its plans are named all the same."""
    had = {training._replace(form="") for training in trained}
    none = {training._replace(kind=kind) for training in had for kind in _KINDS} - had
    return sorted([*trained, *none])


def _plans_of(kind: Kind, plans: Iterable[Iterable[Candidate]]) -> list[Candidate]:
    """Each once, in the order in which they come."""
    return [one for one in dict.fromkeys(chain.from_iterable(plans)) if one.kind == kind]


def _expected(plan: Candidate, trained: Kept, prediction: Prediction) -> Cells:
    """From the share of the cost that was left in each other one, and of how many others that was known."""
    costs = [(prediction.of(one), kept) for one, (kept, _) in trained.items() if one != plan]
    shares = [-log(kept) / cost for cost, kept in costs if cost > _LEAST]
    cost = prediction.of(plan)
    if not shares or cost <= _LEAST:
        return {"n": len(shares)}
    share, either_way = one_more(shares)
    low, high = (None, None) if either_way is None else (share + either_way, share - either_way)
    found = {"expected": share, "low": low, "high": high}
    return {"n": len(shares)} | {
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
    return {
        "Model": table["model"],
        "Kind": table["kind"],
        "Learns from": table["learns_from"],
        "Tokens": numbers(table["tokens"], ",d"),
        "Speed-up": numbers(table["speed_up"], ".2f"),
        "Plan": table["plan"],
        "Role": table["role"],
        "Expected": shown(table["expected"], _ratio),
        "Between": intervals(table["low"], table["high"], _ratio),
        "n": numbers(table["n"], "d"),
        "Kept": with_errors(table["kept"], table["kept_stderr"]),
    }


def _ratio(value: float) -> str | None:
    """Where a plan with little cost kept more than the unchanged model, what follows for costly ones has no bound."""
    return number(value, ".3f" if value < 1000 else ".0e")


TABLE = Table(
    name="recovery_expected",
    title="What plans are expected to keep after training",
    note=NOTE,
    columns=COLUMNS,
    asks=SearchedModels,
    make=_make,
    show=_show,
)
