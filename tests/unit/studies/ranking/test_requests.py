"""What the ranking's tables are asked follows from the settings, and comes back as it was put in."""

import json

import pytest

from tests.unit.settings.merged import load
from workflow_scripts.studies.ranking.requests import (
    GridRequest,
    GridWords,
    ModelsRequest,
    PairRequest,
    RankingRequest,
    ScoresRequest,
    grid_request,
    grid_words,
    models_request,
    pair_request,
    ranking_request,
    scores_request,
)

CHECKPOINT = "miniature/Qwen2-1M-Instruct@k2m12"
HARMONY = {
    "models": ["miniature/Llama-1.4M", CHECKPOINT],
    "tasks": ["rte", "truthfulqa_mc2"],
    "protocols": ["direct", "train_before_test"],
    "bootstrap_draws": 50,
}


def settings(**changes):
    return load({"harmony": HARMONY | changes})


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (GridWords, grid_words),
        (ModelsRequest, models_request),
        (GridRequest, grid_request),
        (PairRequest, pair_request),
        (RankingRequest, ranking_request),
        (ScoresRequest, scores_request),
    ],
)
def test_a_request_comes_back_from_the_params_of_its_rule(kind, asked):
    request = asked(settings())
    plain = json.loads(json.dumps(request.as_params()))
    assert kind.of(plain) == request
    assert kind.of(plain).sha256 == request.sha256


def test_every_protocol_of_the_config_wants_the_tasks_that_it_can_measure():
    asked = ranking_request(settings())
    assert list(asked.wanted) == ["direct", "train_before_test"]
    assert asked.wanted["direct"].models == ("miniature/Llama-1.4M", CHECKPOINT)
    assert asked.wanted["direct"].tasks == ("rte", "truthfulqa_mc2")
    assert asked.wanted["train_before_test"].tasks == ("rte",), "the other has no training split"
    assert (asked.draws, asked.seed) == (50, 0)
    assert asked.metrics["nq_open"] == "exact_match,remove_whitespace"
    assert asked.names["rte"] == "RTE"


def test_the_two_tasks_beside_one_another_are_those_of_the_config_or_its_first():
    assert pair_request(settings()).pair == ("rte", "truthfulqa_mc2")
    assert pair_request(settings(tasks=["rte"])).pair == ("rte",)
    chosen = settings(tasks=["rte", "mnli", "cola"], task_pair=["cola", "rte"])
    assert pair_request(chosen).pair == ("cola", "rte")
    assert pair_request(settings(models=[], tasks=["rte", "mnli"])).pair == (), (
        "as the scores have it"
    )


def test_what_a_table_does_not_use_is_no_part_of_its_request():
    more = settings(bootstrap_draws=60, max_test_items=5)
    assert ranking_request(more) != ranking_request(settings())
    assert grid_request(more) == grid_request(settings())
    assert scores_request(more) == scores_request(settings())


def test_a_checkpoint_goes_by_the_size_of_what_it_was_made_from():
    loaded = settings()
    base = loaded.model("miniature/Qwen2-1M-Instruct").parameters
    assert scores_request(loaded).parameters[CHECKPOINT] == base
