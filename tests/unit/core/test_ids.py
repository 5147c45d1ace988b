"""Test ids: they round-trip through paths, and no id escapes its folder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import load_cases
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId, describe_hub_name_problem
from workflow_scripts.settings.checkpoint import Checkpoint

MODEL, LAYERS = "miniature/Qwen2-1M-Instruct", 24
ID = "org/net@k4m6-sequential-last-adapters8-init.normal-distil.both.t3+cpt"


@pytest.mark.parametrize(("keys", "variant"), load_cases(__file__, "checkpoint_ids.txt"))
@pytest.mark.parametrize("stages", ["", "+cpt", "+cpt.300k", "+cpt+sft", "+tuned"])
def test_checkpoint_id(keys, variant, stages):
    """Config entries share an id exactly if they make the same model, and ids are parsed back from paths."""
    entry = Checkpoint(model=MODEL, **keys)
    text = f"{MODEL}{variant[0]}{stages}"
    checkpoint = CheckpointId.parse(text)
    assert str(entry.build_id(LAYERS)) == str(checkpoint).removesuffix(stages)
    assert str(checkpoint) == text and checkpoint.variant == f"{variant[0]}{stages}"
    assert (
        "/" not in checkpoint.path_name and CheckpointId.parse(checkpoint.path_name) == checkpoint
    )
    assert CheckpointId.parse(text.removesuffix(stages)) == entry.build_id(LAYERS)


def test_id_parts():
    checkpoint = CheckpointId.parse(ID)
    assert str(checkpoint.layout) == "org/net@k4m6-sequential"
    assert str(checkpoint.timed_variant) == "org/net@k4m6-sequential-last-adapters8"
    assert str(checkpoint.previous_stage) == ID.removesuffix("+cpt")


BAD_IDS = """
gpt2 a/b/c ../secrets org/.. /etc/passwd org/a--b org/.hidden org/net~float32
org/name@k2 org/name@prune org/name@k2m12- org/name@k2m12-mean/.. org/name@prune3- org/name@K2m12 org/name@k2m12-8
org/name@k2m12+ org/name+cpt/..
"""


@pytest.mark.parametrize("text", [*BAD_IDS.split(), "", "org/na me", "org/name\n"])
def test_parse_refused(text):
    with pytest.raises(UserError) as error:
        CheckpointId.parse(text)
    assert repr(text) in str(error.value)


@given(st.from_regex(r"[/.a-z-]{1,9}", fullmatch=True))
def test_hub_name_stays_in_folder(text):
    if describe_hub_name_problem(text) is None:
        assert text.count("/") == 1 and ".." not in text and not text.startswith(("/", "."))
