"""A real server of the real model: what it says is believed, or its fault is named.

Start one and name its address with --real-server; docs/served.md says how it went with llama.cpp's.
"""

import numpy as np
import pytest

from tests.real.conftest import MODEL
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.served import ServedEngine
from workflow_scripts.evaluation.served_check import ITEMS, check_served, words_of_questions
from workflow_scripts.hub.manifest import write_manifest
from workflow_scripts.hub.served import load_served, take_files, take_served
from workflow_scripts.settings.served import Served, ServedRequest

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def engine(request, manifest, tmp_path_factory):
    endpoint = request.config.getoption("real_server")
    if endpoint is None:
        pytest.skip("needs a server of the real model, and its address by --real-server")
    folder = tmp_path_factory.mktemp("served")
    asked = ServedRequest(model=MODEL, served=Served(endpoint=endpoint, check=False))
    taken = take_served(manifest, asked)
    files = take_files(manifest, folder)
    write_manifest(folder, taken.model_copy(update={"files": files}))
    served, tokenizer = load_served(folder / "manifest.json", taken)
    return ServedEngine(served, tokenizer)


def test_its_echo_is_believed_or_said_to_be_shifted(engine, loaded, hub):
    pairs = words_of_questions(loaded.tokenizer, hub, 0)[:16]
    try:
        engine.loglikelihoods(pairs, window=128)
    except UserError as error:
        assert "shifted by one" in str(error)
        with pytest.raises(UserError, match=rf"{ITEMS} items differ by .*shifted by one"):
            check_served(engine.served, loaded, hub, 0)
    else:
        assert f"{ITEMS} items within" in check_served(engine.served, loaded, hub, 0)


def test_what_it_generates_is_nearly_what_the_weights_say(engine, loaded, hub):
    """Its first token, of which the weights may say another where two are as likely up to rounding."""
    pairs = words_of_questions(loaded.tokenizer, hub, 1)[:24]
    found = engine.generate([GenerationRequest(context, 1) for context, _ in pairs])
    weights = PrefixEngine(loaded.model)
    chosen = [
        (context, engine._encoded(text)) for (context, _), text in zip(pairs, found, strict=True)
    ]
    best = weights.generate(
        [GenerationRequest(context, 1) for context, _ in pairs], {"do_sample": False}
    )
    ours, theirs = (
        np.array([score for score, _ in weights.loglikelihoods(asked, window=128)])
        for asked in ([(c, t) for (c, _), t in zip(pairs, best, strict=True)], chosen)
    )
    assert np.abs(ours - theirs).max() < 0.5
