"""The search for plans: every plan there is, predictions that are exact where they must be, the best first."""

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_scripts.core.plan_proposals import proposals
from workflow_scripts.core.plan_search import (
    KINDS,
    Prediction,
    evenly_spaced,
    front,
    left_out,
    random_plans,
    sensitivities,
    side_by_side,
    with_chunks,
)
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.plan_search import PlanSearch

sizes = st.integers(2, 14)


def losses(layers: int, seed: int) -> dict[str, float]:
    """Any losses at all."""
    draw = random.Random(seed)
    return {one.name: draw.uniform(-0.1, 3) for one in sensitivities(layers)}


def asked(candidate, layers: int) -> Checkpoint:
    """As a user would write it into a config."""
    if candidate.pruned:
        dropped = tuple(layer + 1 for layer in candidate.pruned)
        return Checkpoint(model="miniature/Qwen2-1M", mode="prune", layers_to_prune=dropped)
    chunks = candidate.plan.chunks
    sequential = len(chunks[0]) > 1 and chunks[0][1] == chunks[0][0] + 1
    return Checkpoint(
        model="miniature/Qwen2-1M",
        num_chunks=len(chunks),
        num_layers_per_chunk=len(chunks[0]),
        layers_before_chunks=len(candidate.plan.start),
        mode=f"{'sequential' if sequential else 'uniform'}_with_shared_start_and_end",
    )


@given(sizes, st.data())
def test_a_candidate_has_the_name_and_the_plan_of_the_checkpoint_that_a_config_asks_for(
    layers, data
):
    depth = data.draw(st.integers(1, layers - 1))
    kind = data.draw(st.sampled_from(KINDS))
    for candidate in [
        *random_plans(kind, layers, depth, 5, seed=data.draw(st.integers())),
        evenly_spaced(kind, layers, depth),
        *with_chunks(layers, depth),
    ]:
        checkpoint = asked(candidate, layers)
        assert checkpoint.plan_name(layers) == candidate.name
        assert checkpoint.plan(layers) == candidate.plan


@given(sizes)
def test_every_layer_is_left_out_and_every_stretch_of_layers_stands_side_by_side(layers):
    found = [(one.pruned, one.plan.start, one.plan.chunks) for one in sensitivities(layers)]
    alone = [((n,), tuple(k for k in range(layers) if k != n), ()) for n in range(layers)]
    stretches = [
        ((), tuple(range(first)), tuple((n,) for n in range(first, last + 1)))
        for first, last in combinations(range(layers), 2)
    ]
    assert sorted(found) == sorted(alone + stretches)
    assert len({one.name for one in sensitivities(layers)}) == len(found)


@given(sizes, st.integers())
def test_what_was_measured_is_predicted_as_measured(layers, seed):
    known = losses(layers, seed)
    prediction = Prediction(layers, known)
    for candidate in sensitivities(layers):
        assert prediction.of(candidate) == pytest.approx(known[candidate.name])


@given(sizes, st.integers(), st.data())
def test_where_losses_are_sums_over_layers_and_pairs_they_are_predicted_exactly(layers, seed, data):
    draw = random.Random(seed)
    alone = [draw.uniform(-0.1, 3) for _ in range(layers)]
    pair = {both: draw.uniform(0.01, 2) for both in combinations(range(layers), 2)}

    def loss(candidate) -> float:
        if candidate.pruned:
            return sum(alone[layer] for layer in candidate.pruned)
        total = 0.0
        for one in candidate.plan.chunks:
            for other in candidate.plan.chunks:
                total += sum(pair[a, b] for a in one for b in other if one != other and a < b)
        return total

    prediction = Prediction(layers, {one.name: loss(one) for one in sensitivities(layers)})
    depth = data.draw(st.integers(1, layers - 1))
    for candidate in [
        *with_chunks(layers, depth),
        *random_plans("pruned", layers, depth, 3, seed),
    ]:
        assert prediction.of(candidate) == pytest.approx(loss(candidate))


@given(st.integers(2, 9), st.integers(), st.data())
def test_the_best_are_the_best_of_all_plans_of_the_depth(layers, seed, data):
    prediction = Prediction(layers, losses(layers, seed))
    depth = data.draw(st.integers(1, layers - 1))
    every = {
        "pruned": [
            left_out(layers, dropped) for dropped in combinations(range(layers), layers - depth)
        ],
        "chunks": [
            side_by_side(layers, k, m, before, mode)
            for k in range(2, layers + 1)
            for m in range(1, layers // k + 1)
            for before in range(layers - k * m + 1)
            for mode in (
                "uniform_with_shared_start_and_end",
                "sequential_with_shared_start_and_end",
            )
            if (k - 1) * m == layers - depth
        ],
    }
    for kind in KINDS:
        best = prediction.best(kind, depth, 3)
        plans = {one.plan: prediction.of(one) for one in every[kind]}
        assert [prediction.of(one) for one in best] == pytest.approx(sorted(plans.values())[:3])
        assert all(one.depth == depth and one.kind == kind for one in best)
        assert front(prediction, kind, depth)[-1] == best[0]


@given(sizes, st.data())
def test_evenly_spaced_plans_have_the_wanted_depth(layers, data):
    depth = data.draw(st.integers(1, layers - 1))
    for kind in KINDS:
        plan = evenly_spaced(kind, layers, depth)
        assert (plan.kind, plan.depth) == (kind, depth)


def test_the_published_plan_is_the_evenly_spaced_one_of_its_depth():
    assert evenly_spaced("chunks", 24, 12).name == "k2m12"
    assert evenly_spaced("chunks", 24, 18).name == "k2m6"
    assert evenly_spaced("pruned", 24, 21).pruned == (4, 12, 20)


def test_a_speed_up_takes_the_greatest_depth_that_reaches_it():
    search = PlanSearch(speed_ups=(1.2, 1.25, 2, 30, 1.01))
    assert search.depths(30) == (25, 24, 15, 1, 29)
    assert search.depths(24) == (20, 19, 12, 1, 23)


def test_proposals_are_the_same_from_the_same_losses_and_come_with_what_they_are_compared_with():
    prediction = Prediction(8, losses(8, 0))
    found = [proposals(prediction, (6, 4), PlanSearch(), seed=1) for _ in range(2)]
    assert found[0] == found[1] != proposals(prediction, (6, 4), PlanSearch(), seed=2)
    search = PlanSearch()
    for kind in KINDS:
        roles = [one.role for one in found[0] if one.candidate.kind == kind]
        each = ["proposed"] * search.proposals + ["evenly spaced"]
        assert roles == each * 2 + ["random"] * search.random_plans
