"""Test prose templates: parts without numbers are left out, and the wording depends only on the values."""

import re
from pathlib import Path

import pytest

from workflow_scripts.render.numbers import select_computed
from workflow_scripts.render.prose import render_prose

ROOT = Path(__file__).parents[3]
TEMPLATES = sorted((ROOT / "workflow_scripts").glob("*/*/*.md.j2"))


def render_paragraphs(tmp_path, text: str, **values) -> list[str]:
    path = tmp_path / "chapter.md.j2"
    path.write_text(f"# A title\n\n{text}\n")
    return render_prose(path, {f"a.{name}": value for name, value in values.items()})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"x": 1, "y": 2}, ["One 1 more. Two 2.", "Three 2. Four."]),
        ({"x": 0}, ["One 0.", "Four."]),
        ({}, ["Four."]),
    ],
)
def test_incomplete_sentences_are_left_out(tmp_path, values, expected):
    text = (
        "One {{ a_x }}\n  {%- if a_x > 0 %} more{% endif %}.\nTwo {{ a_y | count }}.\n\n"
        "Three {{ a_y }}.\nFour."
    )
    assert render_paragraphs(tmp_path, text, **values) == expected


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.parent.name + "/" + path.name)
def test_template_types_no_number(path):
    source = path.read_text().partition("\n")[2]
    assert not re.search(r"\d", re.sub(r"(?s)\{.*?\}|bfloat16|texts of 2025|95% CI", "", source))


def test_uncomputed_numbers_are_left_out():
    values = {"a": None, "b": float("inf"), "c": float("nan"), "d": 0}
    assert select_computed(values) == {"d": 0}
