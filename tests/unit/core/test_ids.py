"""Ids go into paths and come back; nothing can climb out of a folder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId, RowId, hub_name_problem

part = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,12}[A-Za-z0-9])?", fullmatch=True).filter(
    lambda text: "--" not in text and ".." not in text
)
names = st.builds(lambda org, name: f"{org}/{name}", part, part)
stages = st.sampled_from([(), ("cpt",), ("cpt", "sft"), ("sft",)])
without_marks = st.builds(
    lambda name, plan, stages: CheckpointId(name, plan, stages=stages),
    names,
    st.sampled_from([None, "k0m0"])
    | st.from_regex(r"prune[0-9]{1,2}(-[0-9]{1,2}){0,3}", fullmatch=True),
    stages,
)
with_chunks = st.builds(
    CheckpointId,
    names,
    st.from_regex(r"k[1-9][0-9]?m[1-9][0-9]?", fullmatch=True),
    st.sampled_from([None, "uniform", "sequential_with_shared_start"]),
    stages,
    aggregation=st.sampled_from([None, "mean", "last", "residual", "mlp.mean", "mlp.none"]),
    adapters=st.none() | st.just("noadapters") | st.integers(1, 9999).map("adapters{}".format),
    after=st.none() | st.integers(0, 200).map("after{}".format),
    adapter_init=st.sampled_from([None, "init.normal"]),
    distillation=st.sampled_from(
        [
            *(None, "distil.hidden", "distil.both", "distil.logits.t3", "distil.both.t0.25"),
            *("distil.hidden.published", "distil.logits.published.t3"),
        ]
    ),
)
ids = without_marks | with_chunks


@given(ids)
def test_every_id_survives_both_spellings(checkpoint):
    assert CheckpointId.parse(str(checkpoint)) == checkpoint
    assert CheckpointId.parse(checkpoint.in_path) == checkpoint
    assert "/" not in checkpoint.in_path


def test_the_spelling_that_the_paths_and_the_paper_use():
    checkpoint = CheckpointId("Qwen/Qwen2.5-0.5B-Instruct", "k2m12", None, ("cpt", "sft"))
    assert checkpoint.in_path == "Qwen--Qwen2.5-0.5B-Instruct@k2m12+cpt+sft"
    assert checkpoint.variant == "@k2m12+cpt+sft"
    published = CheckpointId.parse("Qwen/Qwen2.5-0.5B-Instruct@k2m12-mlp.none+cpt")
    assert (published.plan, published.aggregation, published.stages) == (
        "k2m12",
        "mlp.none",
        ("cpt",),
    )
    every = CheckpointId.parse("org/net@k4m6-sequential-last-noadapters+cpt+sft")
    assert (every.mode, every.aggregation, every.adapters) == ("sequential", "last", "noadapters")
    assert str(every.layout) == "org/net@k4m6-sequential"
    taught = CheckpointId.parse("org/net@k4m6-sequential-last-noadapters-distil.both.t3+cpt")
    assert str(every.shape) == str(taught.shape) == "org/net@k4m6-sequential-last-noadapters"
    drawn = CheckpointId.parse("org/net@k2m6-adapters8-init.normal+cpt")
    assert str(drawn.shape) == "org/net@k2m6-adapters8-init.normal"
    assert str(drawn.timed_variant) == "org/net@k2m6-adapters8"


def test_a_stage_says_after_how_many_tokens_it_ends():
    id = CheckpointId.parse("org/net@prune3-15-distil.logits.t3+cpt.300k")
    assert (id.plan, id.distillation, id.stages) == ("prune3-15", "distil.logits.t3", ("cpt.300k",))
    assert str(id.before) == "org/net@prune3-15-distil.logits.t3"
    assert str(id.shape) == "org/net@prune3-15"
    assert CheckpointId.parse(str(id)) == id


NO_NAMES = [
    *("", "gpt2", "a/b/c", "../secrets", "org/..", "/etc/passwd", "org/na me", "org/name\n"),
    *("org/a--b", "org/.hidden", "org/" + "x" * 200),
]
NO_PLANS = (
    *(
        "k2",
        "prune",
        "prune3-uniform",
        "k2m12+dpo",
        "k2m12-men",
        "k2m12-",
        "k2m12-mlp",
        "k0m0-mean",
    ),
    *(
        "k2m12-mlp.residual",
        "k2m12-prune",
        "k2m12-uniform_with_shared_start_and_end",
        "k2m12-distil",
    ),
    *("k2m12-distil.logits.t2", "k2m12-distil.both.t3.0", "k2m12-distil.hidden.t3", "prune3-mean"),
    *("k2m12-distil.both.t3.published", "k2m12-init.normal-adapters8", "k2m12-init.identity"),
    *("k2m12-distil.hidden-mean", "k2m12-mean-last", "k2m12-mean-mean", "k2m12-noadapters-mean"),
    *(
        "k2m12+cpt.100",
        "k2m12+cpt.0k",
        "k2m12+sft.100k",
        "prune3-noadapters",
    ),
    *("k2m12-noadapters-adapters8", "k2m12-adapters0", "k2m12-mean/.."),
)


@pytest.mark.parametrize("text", [*NO_NAMES, *(f"org/name@{plan}" for plan in NO_PLANS)])
def test_what_is_no_id_is_refused_with_a_sentence(text):
    with pytest.raises(UserError) as error:
        CheckpointId.parse(text)
    (sentence,) = error.value.problems
    assert repr(text) in sentence
    assert sentence.endswith(".")


def test_an_unknown_mark_is_told_the_nearest_known_one():
    with pytest.raises(UserError, match=r"the unknown mark 'men' .* Did you mean 'mean'"):
        CheckpointId.parse("org/name@k2m12-men")


def test_a_row_of_the_leaderboard_adds_precision_and_commit():
    checkpoint = CheckpointId.parse("org/net@k2m12+cpt")
    assert str(RowId(checkpoint, "bfloat16")) == "org/net@k2m12+cpt~bfloat16"
    pinned = RowId(CheckpointId("org/net"), "float32", "0123456789abcdef0123456789abcdef01234567")
    assert pinned.in_path == "org--net~float32~0123456789ab"
    assert hub_name_problem("org/net~float32"), "no hub name can pass for one"


@given(st.text(max_size=30))
def test_a_name_that_passes_cannot_leave_its_folder(text):
    if hub_name_problem(text) is None:
        assert text.count("/") == 1
        assert ".." not in text
        assert not text.startswith(("/", "."))
