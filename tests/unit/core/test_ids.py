"""Ids go into paths and come back; nothing can climb out of a folder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId, RowId, hub_name_problem

part = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,12}[A-Za-z0-9])?", fullmatch=True).filter(
    lambda text: "--" not in text and ".." not in text
)
ids = st.builds(
    lambda org, name, plan, mode, stages: CheckpointId(
        f"{org}/{name}", plan, mode if plan and plan.startswith("k") else None, stages
    ),
    part,
    part,
    st.none()
    | st.from_regex(r"k[0-9]{1,2}m[0-9]{1,2}", fullmatch=True)
    | st.from_regex(r"prune[0-9]{1,2}(-[0-9]{1,2}){0,3}", fullmatch=True),
    st.sampled_from([None, "uniform", "sequential_with_shared_start"]),
    st.sampled_from([(), ("cpt",), ("cpt", "sft"), ("sft",)]),
)


@given(ids)
def test_every_id_survives_both_spellings(checkpoint):
    assert CheckpointId.parse(str(checkpoint)) == checkpoint
    assert CheckpointId.parse(checkpoint.in_path) == checkpoint
    assert "/" not in checkpoint.in_path


def test_the_spelling_that_the_paths_and_the_paper_use():
    checkpoint = CheckpointId("Qwen/Qwen2.5-0.5B-Instruct", "k2m12", None, ("cpt", "sft"))
    assert checkpoint.in_path == "Qwen--Qwen2.5-0.5B-Instruct@k2m12+cpt+sft"
    assert checkpoint.variant == "@k2m12+cpt+sft"


@pytest.mark.parametrize(
    "text",
    [
        "gpt2",
        "a/b/c",
        "../secrets",
        "org/..",
        "/etc/passwd",
        "org/na me",
        "org/name\n",
        "org/a--b",
        "org/.hidden",
        "org/name@k2",
        "org/name@prune",
        "org/name@prune3-uniform",
        "org/name@k2m12+dpo",
        "",
        "org/" + "x" * 200,
    ],
)
def test_what_is_no_id_is_refused_with_a_sentence(text):
    with pytest.raises(UserError) as error:
        CheckpointId.parse(text)
    (sentence,) = error.value.problems
    assert repr(text) in sentence
    assert sentence.endswith(".")


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
