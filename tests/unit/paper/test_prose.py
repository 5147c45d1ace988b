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
        ({"x": 1, "y": 2}, ["One 1, more 2. Two 2.", "Three 2. Four."]),
        ({"x": 1}, ["One 1."]),
        ({"y": 2}, ["Three 2. Four."]),
        ({}, []),
    ],
)
def test_incomplete_parts_are_left_out(tmp_path, values, expected):
    text = (
        "One {{ a.x }}\n  [[, more {{ a.y }}]].\nTwo {{ a.y | count }}.\n\nThree {{ a.y }}.\nFour."
    )
    assert render_paragraphs(tmp_path, text, **values) == expected


CONDITION = (
    "{% if a.x < 0 %}\nless\n{% elif a.x >= 1 %}\nmore\n{% elif a.x == 0 %}\nsame\n{% endif %}"
)
LIST = "All: {% filter joined %}{{ a.x }} | {{ a.y | fixed('.1f') }} | {{ a.word }}{% endfilter %}."
WORDS = '{{ compared(errors_apart(a.x, 2, a.y, 2), "below", "about", "above") }} it'


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        *((CONDITION, {"x": x}, [word]) for x, word in ((-1, "less"), (0, "same"), (2, "more"))),
        (CONDITION, {}, []),
        (LIST, {"x": 1, "y": 2, "word": "w"}, ["All: 1, 2.0 and w."]),
        (LIST, {"x": 1, "word": "w"}, ["All: 1 and w."]),
        (LIST, {}, []),
        (WORDS, {"x": 9, "y": 1}, ["above it"]),
        (WORDS, {"x": 0, "y": 9}, ["below it"]),
        (WORDS, {"x": 5, "y": 6}, ["about it"]),
        (WORDS, {"x": 5}, []),
    ],
)
def test_words_follow_values(tmp_path, text, values, expected):
    assert render_paragraphs(tmp_path, text, **values) == expected


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.parent.name + "/" + path.name)
def test_template_types_no_number(path):
    source = path.read_text().partition("\n")[2]
    assert not re.search(r"\d", re.sub(r"(?s)\{.*?\}|bfloat16|texts of 2025|95% CI", "", source))


def test_uncomputed_numbers_are_left_out():
    values = {"a": None, "b": float("inf"), "c": float("nan"), "d": 0}
    assert select_computed(values) == {"d": 0}
