"""Plans that are searched: each is measured as it would be on its own, and what is proposed is checked."""

import pytest

from tests.unit.evaluation.conftest import CHUNKABLE
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.core.plan_proposals import CHECK, SEARCH, losses_of, proposals
from workflow_scripts.core.plan_search import Prediction, sensitivities
from workflow_scripts.core.records import whole_record
from workflow_scripts.evaluation.perplexity import perplexity_metrics, text_perplexity
from workflow_scripts.evaluation.plan_search import measure_plan_search
from workflow_scripts.evaluation.requests import SearchRequest
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.mirror import read_rows
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Compute
from workflow_scripts.settings.plan_search import PlanSearch

WINDOW, TOKENS = 64, 100


def request(**search) -> SearchRequest:
    asked = PlanSearch(tokens=TOKENS, speed_ups=(1.5,), proposals=1, random_plans=1, **search)
    return SearchRequest(search=asked, window=WINDOW, compute=Compute(device="cpu"), seed=0)


@pytest.fixture(scope="module")
def measured(world, chunkable, tmp_path_factory):
    path = tmp_path_factory.mktemp("search") / "wikitext.json"
    measure_plan_search(chunkable, world, path, request(text="wikitext"))
    return whole_record(path)


def test_a_plan_is_measured_as_a_model_that_is_loaded_in_it(world, chunkable, measured):
    """Not one after the other in one model, and not by a prediction."""
    layers = measured.protocol.generation["layers"]
    rows, _ = read_rows(world, "Salesforce/wikitext", "wikitext-103-v1", "validation")
    text = "\n\n".join(row["text"] for row in rows)
    found = {
        (m.subset, m.condition.plan): m.value for m in measured.metrics if m.name == "perplexity"
    }
    plans = {
        UNCHANGED: {"num_chunks": 0, "num_layers_per_chunk": 0},
        "prune2": {"mode": "prune", "layers_to_prune": (2,)},
        f"k2m1-after{layers - 2}": {
            **{"num_chunks": 2, "num_layers_per_chunk": 1},
            "layers_before_chunks": layers - 2,
        },
    }
    for name, keys in plans.items():
        plan = Checkpoint(model=CHUNKABLE, aggregation_mode="residual", use_adapters=False, **keys)
        assert plan.plan_name(layers) == name
        loaded = load_model(
            chunkable, chunking=plan.keys, device="cpu", dtype="float32", attention="auto"
        )
        ids = loaded.tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
        end = ids["offset_mapping"][TOKENS - 1][1]
        alone = text_perplexity(
            loaded.model, loaded.tokenizer, text[:end], window=WINDOW, stride=WINDOW
        )
        assert found[SEARCH, name] == pytest.approx(perplexity_metrics(alone)[0].value, rel=1e-5)


def test_what_the_search_proposes_is_measured_on_other_text(measured):
    layers = measured.protocol.generation["layers"]
    losses = losses_of(measured.metrics)
    assert set(losses) == {UNCHANGED, *(one.name for one in sensitivities(layers))}
    search = PlanSearch.model_validate(measured.request["search"])
    found = proposals(Prediction(layers, losses), search.depths(layers), search, seed=0)
    checked = {m.condition.plan for m in measured.metrics if m.subset == CHECK}
    assert checked == {UNCHANGED, *(one.candidate.name for one in found)}
    unchanged = {
        m.subset: m.value
        for m in measured.metrics
        if m.name == "perplexity" and m.condition.plan == UNCHANGED
    }
    assert unchanged[SEARCH] != unchanged[CHECK]


@pytest.mark.parametrize("text", ["wikitext", "magpie"])
def test_a_text_that_is_too_short_is_refused_before_anything_is_measured(
    world, chunkable, tmp_path, text
):
    asked = request(text=text)
    asked = asked.model_copy(
        update={"search": asked.search.model_copy(update={"tokens": 1_000_000})}
    )
    with pytest.raises(UserError, match=rf"chunking.search.tokens is 1000000, and {text} has only"):
        measure_plan_search(chunkable, world, tmp_path / "record.json", asked)
    assert not list(tmp_path.iterdir())
