"""Ids go into paths and come back; nothing can climb out of a folder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId, RowId, describe_hub_name_problem

part = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,12}[A-Za-z0-9])?", fullmatch=True).filter(
    lambda text: "--" not in text and ".." not in text
)
marks = st.builds(
    lambda *marks: "".join(f"-{mark}" for mark in marks if mark),
    st.sampled_from(["", "uniform", "sequential_with_shared_start"]),
    st.sampled_from(["", "after0", "after14"]),
    st.sampled_from(["", "mean", "last", "residual", "mlp.mean", "mlp.none"]),
    st.sampled_from(["", "noadapters", "adapters64"]),
    st.sampled_from(["", "init.normal"]),
    st.sampled_from(["", "distil.hidden", "distil.both.t0.25", "distil.logits.published.t3"]),
)
plans = st.sampled_from(["", "@k0m0", "@prune3", "@prune3-15-distil.both"]) | st.builds(
    "@k{}m{}{}".format, st.integers(1, 99), st.integers(1, 99), marks
)
stages = st.sampled_from(["", "+cpt", "+cpt.300k", "+cpt+sft", "+sft", "+tuned"])
ids = st.builds("{}/{}{}{}".format, part, part, plans, stages)


@given(ids)
def test_parse_both_spellings(text):
    checkpoint = CheckpointId.parse(text)
    assert str(checkpoint) == text
    assert CheckpointId.parse(checkpoint.in_path) == checkpoint
    assert "/" not in checkpoint.in_path


def test_id_parts():
    checkpoint = CheckpointId.parse(
        "org/net@k4m6-sequential-last-adapters8-init.normal-distil.both.t3+cpt"
    )
    assert (checkpoint.mode, checkpoint.aggregation, checkpoint.adapters) == (
        "sequential",
        "last",
        "adapters8",
    )
    assert (checkpoint.distillation, checkpoint.stages) == ("distil.both.t3", ("cpt",))
    assert str(checkpoint.layout) == "org/net@k4m6-sequential"
    assert str(checkpoint.shape) == "org/net@k4m6-sequential-last-adapters8-init.normal"
    assert str(checkpoint.timed_variant) == "org/net@k4m6-sequential-last-adapters8"
    assert str(checkpoint.before) == str(checkpoint).removesuffix("+cpt")
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


@pytest.mark.parametrize(
    "text", [*NO_NAMES.split(), "", "org/na me", "org/name\n", "org/" + "x" * 200]
)
def test_parse_refused(text):
    with pytest.raises(UserError) as error:
        CheckpointId.parse(text)
    assert repr(text) in str(error.value)


@given(st.text(max_size=30))
def test_hub_name_stays_in_folder(text):
    if describe_hub_name_problem(text) is None:
        assert text.count("/") == 1 and ".." not in text and not text.startswith(("/", "."))
