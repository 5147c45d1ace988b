"""Compare the evaluation of a model behind an API server with that of the same weights."""

from functools import partial

import pytest

from tests.cells import make_cell
from tests.completions_server import serve_completions
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.hardware_errors import describe_hardware_error
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.evaluation.served import ServedEngine
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.served import main as describe_served_model


def describe(source, folder, endpoint):
    manifest = folder / "manifest.json"
    server = {"endpoint": endpoint, "name": None}
    describe_served_model(source, manifest, "miniature", "served", server)
    return manifest


@pytest.mark.parametrize("task, metric", [("sst2", "acc"), ("gsm8k", "exact_match,strict-match")])
def test_served_record_equals_weights(world, chunkable, tmp_path, task, metric):
    request = make_cell(task, metric, max_test_items=4)
    evaluate_direct(chunkable, world, tmp_path / "here.json", request)
    with serve_completions(chunkable.parent) as (server, endpoint):
        manifest = describe(chunkable, tmp_path / "served", endpoint)
        evaluate_direct(manifest, world, tmp_path / "there.json", request)
        count = server.requests
        evaluate_direct(manifest, world, tmp_path / "there.json", request)
        assert server.requests == count  # the second job uses the cached answers
    here, there = (
        read_items(tmp_path / f"{name}.parquet").to_pylist() for name in ("here", "there")
    )
    for item, served in zip(here, there, strict=True):
        assert served["loglikelihoods"] == pytest.approx(item["loglikelihoods"], abs=1e-3)
        assert (served["prompt_sha256"], served["text"]) == (item["prompt_sha256"], item["text"])
    record = read_record(tmp_path / "there.json")
    assert record.protocol.engine == f"served: miniature/served at {endpoint}"
    assert (record.protocol.dtype, record.cost.device) == ("as served", "server")


@pytest.mark.parametrize("status", [401, 503, None])
def test_failing_server(chunkable, tmp_path, monkeypatch, capfd, status):
    """A server failure is an error of the job and not of the cell, and the API key is in no log."""
    monkeypatch.setenv("OPENAI_API_KEY", "open-sesame")
    with serve_completions(chunkable.parent, status=status or 200, key="open-sesame") as (
        _,
        endpoint,
    ):
        manifest = describe(chunkable, tmp_path / "served", endpoint)
        loaded = load_model(manifest, device="cpu", dtype="float32", attention="sdpa")
        engine = ServedEngine(loaded.model, loaded.tokenizer)
        score = partial(engine.loglikelihoods, [([5, 6, 7], [8])], window=50, answers={})
        if status is None:
            assert len(score()) == 1
        else:
            with pytest.raises(UserError, match=str(status)) as caught:
                score()
            assert describe_hardware_error(caught.value)
    assert "open-sesame" not in manifest.read_text() + "".join(capfd.readouterr())
