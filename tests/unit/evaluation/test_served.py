"""A model that a server answers for is measured as the same weights are, or not at all."""

import json

import numpy as np
import pytest

from tests.cells import cell
from tests.completions_server import NAME, VERSION, serving
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.items import read_items
from workflow_scripts.core.machine import machine_problem
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.served import ServedEngine
from workflow_scripts.evaluation.served_check import (
    check_served,
    take_served_model,
    words_of_questions,
)
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import read_manifest, write_manifest
from workflow_scripts.hub.served import load_served, take_files, take_served
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.served import Served, ServedRequest, TakenRequest

CPU = {"device": "cpu", "dtype": "float32", "attention": "sdpa"}


@pytest.fixture(scope="module")
def weights(chunkable):
    return load_model(chunkable, **CPU)


def taken(source, target, endpoint, **more):
    request = ServedRequest(
        model="miniature/served", served=Served(endpoint=endpoint, check=False, **more)
    )
    manifest = take_served(source, request)
    files = take_files(source, target)
    write_manifest(target, manifest.model_copy(update={"files": files}))
    return target / "manifest.json"


@pytest.fixture
def served(chunkable, tmp_path):
    """A server's engine, and what the server was asked; with what is wrong with it."""
    with_servers = []

    def start(**how):
        context = serving(chunkable.parent, **how)
        server, endpoint = context.__enter__()
        with_servers.append(context)
        manifest = taken(chunkable, tmp_path / "served", endpoint)
        model, tokenizer = load_served(manifest, read_manifest(manifest))
        return ServedEngine(model, tokenizer), server

    yield start
    for context in with_servers:
        context.__exit__(None, None, None)


def test_a_record_is_that_of_the_weights_and_names_the_server(world, chunkable, tmp_path):
    asked = {"max_test_items": 8}
    evaluate_direct(chunkable, world, tmp_path / "here.json", cell("sst2", "acc", **asked))
    with serving(chunkable.parent, window=2000) as (_, endpoint):
        manifest = taken(chunkable, tmp_path / "served", endpoint)
        path = tmp_path / "there.json"
        evaluate_direct(manifest, world, path, cell("sst2", "acc", **asked))
        gsm = tmp_path / "gsm.json"
        evaluate_direct(
            manifest, world, gsm, cell("gsm8k", "exact_match,strict-match", max_test_items=2)
        )
    here, there = (
        read_items(tmp_path / f"{name}.parquet").to_pylist() for name in ("here", "there")
    )
    for one, other in zip(here, there, strict=True):
        assert other["loglikelihoods"] == pytest.approx(one["loglikelihoods"], abs=1e-3)
        assert other["prompt_sha256"] == one["prompt_sha256"]
    record = read_record(path)
    assert record.protocol.engine == f"served: test {VERSION} as {NAME}, asked with tokens"
    assert (record.protocol.dtype, record.cost.device) == ("as served", "server")
    assert record.model.weights_sha256 != read_record(tmp_path / "here.json").model.weights_sha256
    evaluate_direct(
        chunkable,
        world,
        tmp_path / "own.json",
        cell("gsm8k", "exact_match,strict-match", max_test_items=2),
    )
    own = read_items(tmp_path / "own.parquet").to_pylist()
    assert [one["text"] for one in read_items(gsm.with_suffix(".parquet")).to_pylist()] == [
        one["text"] for one in own
    ]


@pytest.mark.parametrize("takes_tokens", [True, False])
def test_tokens_and_texts_have_the_scores_of_the_weights(served, weights, world, takes_tokens):
    engine, server = served(takes_tokens=takes_tokens)
    words = words_of_questions(weights.tokenizer, world, 3)[:12]
    pairs = [(context[:-2], [*context[-2:], *word]) for context, word in words if len(context) > 3]
    found = engine.loglikelihoods(pairs, window=100)
    expected = PrefixEngine(weights.model).loglikelihoods(pairs, window=100)
    np.testing.assert_allclose([a for a, _ in found], [a for a, _ in expected], atol=1e-4)
    assert [greedy for _, greedy in found] == [greedy for _, greedy in expected]
    assert isinstance(server.asked[-1]["prompt"], str) == (not takes_tokens)


@pytest.mark.parametrize("off_by", [0.0, 0.15])
def test_a_shifted_echo_is_caught_with_and_without_the_weights(served, weights, world, off_by):
    """Also where rounding alone would be too much."""
    engine, _ = served(shifts=True, off_by=off_by)
    pairs = words_of_questions(weights.tokenizer, world, 0)[:20]
    with pytest.raises(UserError, match=r"cannot be believed.*shifted by one"):
        engine.loglikelihoods(pairs, window=100)
    with pytest.raises(UserError, match=r"items differ by .*shifted by one"):
        check_served(engine.served, weights, world, 0)
    # What it generates is right all the same.
    answers = engine.generate([GenerationRequest(context, 4) for context, _ in pairs[:3]])
    expected = PrefixEngine(weights.model).generate(
        [GenerationRequest(context, 4) for context, _ in pairs[:3]], {"do_sample": False}
    )
    assert answers == [weights.tokenizer.decode(tokens) for tokens in expected]


def test_the_check_says_how_near_the_same_weights_are_and_refuses_others(
    world, chunkable, model_manifest, tmp_path, monkeypatch
):
    monkeypatch.setattr("workflow_scripts.evaluation.served_check.ITEMS", 40)
    with serving(chunkable.parent) as (_, endpoint):
        request = TakenRequest(
            model="miniature/x", served=Served(endpoint=endpoint), compute=Loading(**CPU)
        ).as_params()
        manifest = tmp_path / "served/manifest.json"
        take_served_model({"source": [chunkable]}, request, {"manifest": manifest})
        facts = json.loads(manifest.read_text())["served"]
        assert (
            facts["checked"].startswith("40 items within") and facts["server"] == f"test {VERSION}"
        )
        with pytest.raises(UserError, match="serves other weights"):
            other = {"manifest": tmp_path / "other/manifest.json"}
            take_served_model({"source": [model_manifest]}, request, other)
        assert not (tmp_path / "other/manifest.json").exists()


def test_another_server_at_the_address_is_not_taken_for_it(chunkable, tmp_path, monkeypatch):
    with serving(chunkable.parent) as (_, endpoint):
        manifest = taken(chunkable, tmp_path / "served", endpoint)
        load_model(manifest, **CPU)
        monkeypatch.setattr("tests.completions_server.VERSION", "2.0")
        with pytest.raises(UserError, match=r"was test 1\.2\.3 with 'tiny', and is test 2\.0"):
            load_model(manifest, **CPU)
        with pytest.raises(UserError, match=r"name is 'small'; expected one of .*'tiny'"):
            taken(chunkable, tmp_path / "other", endpoint, name="small")
    with serving(chunkable.parent, window=60) as (_, endpoint):
        loaded = load_model(taken(chunkable, tmp_path / "small", endpoint), **CPU)
        assert loaded.model.config.max_position_embeddings == 58
        long = [*range(5, 90)]
        engine = ServedEngine(loaded.model, loaded.tokenizer)
        assert len(engine.loglikelihoods([(long, [7])], window=58)) == 1
    with pytest.raises(UserError) as gone:
        load_model(manifest, **CPU)
    assert "does not answer" in machine_problem(gone.value)


def test_a_key_is_sent_and_an_overloaded_server_asked_again(chunkable, tmp_path, monkeypatch):
    monkeypatch.setenv("TINY_API_KEY", "open-sesame")
    with serving(chunkable.parent, key="open-sesame") as (server, endpoint):
        with pytest.raises(UserError, match="HTTP 401"):
            taken(chunkable, tmp_path / "served", endpoint)
        manifest = taken(chunkable, tmp_path / "served", endpoint, key_variable="TINY_API_KEY")
        assert "open-sesame" not in manifest.read_text()
        loaded = load_model(manifest, **CPU)
        engine = ServedEngine(loaded.model, loaded.tokenizer, is_known=True)
        server.fails = 1
        assert len(engine.loglikelihoods([([5, 6, 7], [8])], window=50)) == 1


def test_a_prompt_that_the_server_splits_otherwise_is_refused(served):
    engine, _ = served(takes_tokens=False)
    letters = [engine._encoded(letter)[0] for letter in "the sun"]
    with pytest.raises(UserError, match="read a prompt of 7 tokens as "):
        engine.loglikelihoods([(letters[:-1], letters[-1:])], window=50)
    with pytest.raises(UserError, match="puts a start token before"):
        served(takes_tokens=False, starts=True)[0].loglikelihoods([([5, 6], [7])], window=50)
