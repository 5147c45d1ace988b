"""Test ids: they round-trip through paths, and no id escapes its folder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import load_cases
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId, RowId, describe_hub_name_problem
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
    assert str(entry.id(LAYERS)) == str(checkpoint).removesuffix(stages)
    assert str(checkpoint) == text and checkpoint.variant == f"{variant[0]}{stages}"
    assert "/" not in checkpoint.in_path and CheckpointId.parse(checkpoint.in_path) == checkpoint
    assert CheckpointId.parse(text.removesuffix(stages)) == entry.id(LAYERS)


def test_id_parts():
    checkpoint = CheckpointId.parse(ID)
    assert str(checkpoint.layout) == "org/net@k4m6-sequential"
    assert str(checkpoint.timed_variant) == "org/net@k4m6-sequential-last-adapters8"
    assert str(checkpoint.before) == ID.removesuffix("+cpt")
    row = RowId(CheckpointId("org/net"), "float32", "0123456789abcdef0123456789abcdef01234567")
    assert row.in_path == "org--net~float32~0123456789ab"


NO_NAMES = """
gpt2 a/b/c ../secrets org/.. /etc/passwd org/a--b org/.hidden org/net~float32
org/name@k2 org/name@prune org/name@prune3-uniform org/name@k2m12+dpo org/name@k2m12-men org/name@k2m12-
org/name@k2m12-mlp org/name@k0m0-mean org/name@k2m12-mlp.residual org/name@k2m12-prune
org/name@k2m12-uniform_with_shared_start_and_end org/name@k2m12-distil org/name@k2m12-distil.logits.t2
org/name@k2m12-distil.both.t3.0 org/name@k2m12-distil.hidden.t3 org/name@prune3-mean org/name@k2m12-mean/..
org/name@k2m12-distil.both.t3.published org/name@k2m12-init.normal-adapters8 org/name@k2m12-init.identity
org/name@k2m12-mean-last org/name@k2m12-noadapters-mean org/name@k2m12+cpt.100 org/name@k2m12+cpt.0k
org/name@k2m12+sft.100k org/name@prune3-noadapters org/name@k2m12-adapters0
"""


@pytest.mark.parametrize("text", [*NO_NAMES.split(), "", "org/na me", "org/name\n"])
def test_parse_refused(text):
    with pytest.raises(UserError) as error:
        CheckpointId.parse(text)
    assert repr(text) in str(error.value)


@given(st.from_regex(r"[/.a-z-]{1,9}", fullmatch=True))
def test_hub_name_stays_in_folder(text):
    if describe_hub_name_problem(text) is None:
        assert text.count("/") == 1 and ".." not in text and not text.startswith(("/", "."))
