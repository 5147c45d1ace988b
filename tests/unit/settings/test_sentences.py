"""Sentences about fields that no section has yet, and values that YAML can hold all the same."""

from datetime import date
from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError

from workflow_scripts.settings.section import Section
from workflow_scripts.settings.sentences import dotted, listed, sentences, shown


class Inner(Section):
    share: float = Field(0.5, ge=0, le=1)
    wide: bool = False


class Outer(Section):
    inner: Inner | None = None
    names: Annotated[tuple[str, ...], Field(strict=False)] | None = None
    factor: float = 1.0
    size: Literal["small", "large"] | None = None


def said(config) -> list[str]:
    with pytest.raises(ValidationError) as raised:
        Outer.model_validate(config)
    return sentences(raised.value, Outer.json_schema())


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"inner": {"share": 2}}, "inner.share is 2; expected a number from 0 to 1."),
        ({"inner": {"wide": 1}}, "inner.wide is 1; expected true or false."),
        ({"inner": {"shar": 1}}, "no such key; expected share or wide (did you mean 'share'?)."),
        ({"inner": 3}, "inner is 3; expected a mapping with the keys share and wide, or null."),
        ({"names": ["a", 1]}, "names[1] is 1; expected text."),
        ({"names": 1}, "names is 1; expected a list, each text, or null."),
        ({"size": "big"}, "size is 'big'; expected one of 'small' or 'large', or null."),
        ({"factor": "2"}, "factor is the text '2'; expected a number."),
    ],
)
def test_sections_and_lists_that_may_be_null(config, sentence):
    (only,) = said(config)
    assert only.endswith(sentence)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ("a\nb", r"'a\nb'"),
        (date(2026, 1, 2), "2026-01-02"),
        ({"a": 1}, "a mapping"),
        ({}, "an empty mapping"),
        ([1], "a list"),
        ([], "an empty list"),
        ({"hf_" + "a" * 20}, "a set"),
        (b"hf_" + b"a" * 20, "a bytes"),
        ("https://me:tiger@example.org", "what looks like a secret"),
        ("ghp_" + "a" * 36, "what looks like a secret"),
        ("github_pat_" + "a" * 36, "what looks like a secret"),
        ("sk-" + "a" * 36, "what looks like a secret"),
        ("Qwen/Qwen2.5-0.5B", "'Qwen/Qwen2.5-0.5B'"),
    ],
)
def test_values_are_shown_on_one_line_and_secrets_not_at_all(value, text):
    assert shown(value) == text


def test_keys_are_dotted():
    assert dotted(("a", 0, "b c", "hf_" + "a" * 20)) == "a[0].'b c'.<hidden>"


def test_words_are_listed():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"], "or") == "a, b or c"
