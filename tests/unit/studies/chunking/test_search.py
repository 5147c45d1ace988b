"""The table and figure of the search for plans, from a record with known losses."""

import random
from math import exp, log

import numpy as np
import pandas as pd
import pytest

from tests.records import record_fields
from workflow_scripts.core.conditions import Condition
from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.core.items import Item
from workflow_scripts.core.plan_proposals import CHECK, SEARCH, proposals
from workflow_scripts.core.plan_search import Prediction, sensitivities
from workflow_scripts.core.records import write_record
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.settings.plan_search import PlanSearch
from workflow_scripts.studies.chunking.requests import SearchedModels
from workflow_scripts.studies.chunking.search import TABLE, against
from workflow_scripts.studies.chunking.search_figure import rank_correlation, write_search_figure

LAYERS, PIECES = 8, 5
SEARCHED = PlanSearch(speed_ups=(1.3, 2.0), proposals=1, random_plans=4)
ASKED = SearchedModels(models=("org/name",), search=SEARCHED, seed=0)


def write_search(path, truth) -> None:
    """A record in which the unchanged model costs 1 nat a token and each plan what `truth` says besides."""
    draw = random.Random(7)
    known = {one.name: draw.uniform(0.05, 1) for one in sensitivities(LAYERS)}
    found = proposals(Prediction(LAYERS, known), SEARCHED.depths(LAYERS), SEARCHED, 0)
    checked = {one.candidate.name: truth(one.role) for one in found}
    measured = {SEARCH: {UNCHANGED: 0.0, **known}, CHECK: {UNCHANGED: 0.0, **checked}}
    fields = record_fields(study="chunk_search", task="magpie")
    (metric,) = fields["metrics"][:1]
    metrics, items = [], []
    for subset, losses in measured.items():
        for plan, loss in losses.items():
            condition = Condition(plan=plan)
            changes = {
                **{"name": "perplexity", "subset": subset, "condition": condition},
                **{"value": exp(1 + loss), "stderr": 0.1, "n": PIECES},
            }
            metrics.append(metric.model_copy(update=changes))
            items += [
                Item(
                    item=f"{subset}/magpie/{plan}/{at}",
                    prompt_sha256="0" * 64,
                    gold=None,
                    prediction=None,
                    subset=subset,
                    condition=condition,
                    scores={"nats": 10 * (1 + loss), "tokens": 10, "bytes": 40},
                )
                for at in range(PIECES)
            ]
    fields["metrics"] = tuple(metrics)
    protocol = fields["protocol"]
    fields["protocol"] = protocol.model_copy(update={"generation": {"layers": LAYERS}})
    write_record(path, items, **fields)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "magpie.json"
    truth = {"proposed": log(2), "evenly spaced": log(3), "random": log(4)}
    write_search(path, truth.get)
    return TABLE.make(Inputs({"records": [path]}), ASKED)


def test_a_proposal_stands_beside_the_evenly_spaced_plan_of_its_kind_and_depth(table):
    rows = table[table["role"] == "proposed"]
    assert sorted(zip(rows["kind"], rows["depth"], strict=True)) == [
        ("chunks", 4),
        ("chunks", 6),
        ("pruned", 4),
        ("pruned", 6),
    ]
    alone = rows[~rows["plan"].isin(table.loc[table["role"] == "evenly spaced", "plan"])]
    assert len(alone) >= 2
    assert np.allclose(alone["ratio"], 2) and np.allclose(alone["perplexity"], 2 * exp(1))
    assert np.allclose(alone["against_even"], 2 / 3)
    assert np.allclose(rows["speed_up"], LAYERS / rows["depth"])
    assert set(rows["n"]) == {PIECES}


def test_the_front_has_a_plan_for_each_depth_and_only_what_was_measured_has_a_perplexity(table):
    best = table[table["role"].isin(["front", "proposed"])]
    for _, rows in best.groupby("kind"):
        assert sorted(rows["depth"]) == [4, 5, 6, 7]
    assert table.loc[table["role"] == "front", "perplexity"].isna().all()
    assert table.loc[table["role"] != "front", "perplexity"].notna().all()
    shown = TABLE.show(table, ASKED)
    assert "random" not in set(shown["Role"]) and "unchanged" in set(shown["Role"])


def test_one_plan_against_another_is_a_paired_ratio_with_the_error_of_its_differences():
    draw = np.random.default_rng()
    tokens = draw.integers(5, 50, 400).astype(float)
    theirs = tokens * draw.uniform(1, 3, 400)
    ours = theirs + tokens * draw.normal(0.2, 0.3, 400)
    frames = [pd.DataFrame({"nats": nats, "tokens": tokens}) for nats in (ours, theirs)]
    ratio, error = against(*frames)
    assert log(ratio) == pytest.approx((ours.sum() - theirs.sum()) / tokens.sum())
    drawn = draw.integers(0, 400, (4000, 400))  # the bootstrap knows no formula
    again = np.exp((ours - theirs)[drawn].sum(1) / tokens[drawn].sum(1))
    assert error == pytest.approx(again.std(), rel=0.15)
    assert against(*(frame[:1] for frame in frames))[1] is None


def test_the_rank_correlation_is_of_ranks():
    rows = pd.DataFrame({"predicted": [1.0, 2, 3, 4], "ratio": [1.0, 10, 1000, 100]})
    assert rank_correlation(rows) == pytest.approx(0.8)
    assert np.isnan(rank_correlation(rows[:2]))


def test_the_figure_is_drawn_and_says_where_there_is_no_model(table, tmp_path):
    files = [(tmp_path / f"{name}.pdf", tmp_path / f"{name}.png") for name in ("full", "empty")]
    write_search_figure(table, *files[0])
    nothing = TABLE.make(Inputs({"records": []}), ASKED.model_copy(update={"models": ()}))
    write_search_figure(nothing, *files[1])
    assert all(path.stat().st_size > 1000 for pair in files for path in pair)
