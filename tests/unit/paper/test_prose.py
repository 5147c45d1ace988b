"""Templates of prose: parts without numbers are left out, and words follow from the values alone."""

import json
import re
from pathlib import Path

import pytest

from tests.unit.stories import make_story_numbers
from workflow_scripts.paper.studies import STUDIES
from workflow_scripts.render.numbers import (
    name_numbers,
    read_declared,
    read_numbers,
    write_numbers,
)
from workflow_scripts.render.prose import told

ROOT = Path(__file__).parents[3]
TEMPLATES = sorted((ROOT / "workflow_scripts").glob("*/*/*.md.j2"))
DECLARED = read_declared(*dict.fromkeys(study.declared for study in STUDIES))
KINDS = {"x": "count", "y": "count", "word": "text"}


def render_paragraphs(tmp_path, text: str, **values) -> list[str]:
    path = tmp_path / "chapter.md.j2"
    path.write_text(f"# A title\n\n{text}\n")
    declared = {f"a.{name}": (kind, "") for name, kind in KINDS.items()}
    return told(path, name_numbers({f"a.{name}": v for name, v in values.items()}, declared))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"x": 1, "y": 2}, ["One {a.x}, more {a.y}. Two {a.y}.", "Three {a.y}. Four."]),
        ({"x": 1}, ["One {a.x}."]),
        ({"y": 2}, ["Three {a.y}. Four."]),
        ({}, []),
    ],
)
def test_incomplete_parts_are_left_out(tmp_path, values, expected):
    text = "One {a.x}\n  [[, more {a.y}]].\nTwo {a.y}.\n\nThree {a.y}.\nFour."
    assert render_paragraphs(tmp_path, text, **values) == expected


CONDITION = (
    "{% if a.x < 0 %}\nless\n{% elif a.x >= 1 %}\nmore\n{% elif a.x == 0 %}\nsame\n{% endif %}"
)
LIST = "All: {% filter joined %}{a.x} | {a.y} | {a.word}{% endfilter %}."
WORDS = '{{ compared(errors_apart(a.x, 2, a.y, 2), "below", "about", "above") }} it'


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        *((CONDITION, {"x": x}, [word]) for x, word in ((-1, "less"), (0, "same"), (2, "more"))),
        (CONDITION, {}, []),
        (LIST, {"x": 1, "y": 2, "word": "w"}, ["All: {a.x}, {a.y} and {a.word}."]),
        (LIST, {"x": 1, "word": "w"}, ["All: {a.x} and {a.word}."]),
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
def test_template_uses_declared_numbers(path):
    source = path.read_text().partition("\n")[2]
    names = re.sub(r"\{\{.*?\}\}", "n", re.sub(r"\"[^\"]*\"|'[^']*'", "", source))
    used = set(re.findall(r"\b(?!loop\.)[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+", names))
    assert used <= set(DECLARED)
    assert not re.search(r"\d", re.sub(r"(?s)\{.*?\}|bfloat16|texts of 2025|95% CI", "", source))


def test_numbers_round_trip(tmp_path):
    values = {"run.items": 14_042, "run.devices": "a & b_c@k2m12", "prompts.lowest": 0.25}
    values |= {"mmlu.baseline": 0.3, "run.tokens": None, "run.hosts": float("inf")}
    numbers = make_story_numbers(values)
    json_path, tex = tmp_path / "numbers.json", tmp_path / "numbers.tex"
    write_numbers(numbers, json_path, tex)
    assert read_numbers(json_path) == numbers
    texts = {name: number["text"] for name, number in json.loads(json_path.read_text()).items()}
    assert (texts["run.items"], texts["mmlu.baseline"]) == ("14,042", "0.300")
    assert not {"run.tokens", "run.hosts"} & set(texts), "nothing finite"
    text = tex.read_text()
    assert r"\defval{prompts.lowest}{25\%}% lowest accuracy" in text
    assert r"\defval{run.devices}{a \& b\_c@k2m12}" in text
