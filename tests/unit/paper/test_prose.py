"""Templates of prose: what cannot be told is left out, and what can is told by the values alone."""

import random
import re
from pathlib import Path

import pytest

from tests.unit.stories import numbers_of
from workflow_scripts.core.errors import UserError
from workflow_scripts.paper.studies import STUDIES, declared, tell
from workflow_scripts.render.numbers import PLACE, Declared, Numbers
from workflow_scripts.render.prose import names_in, title_of, told

ROOT = Path(__file__).parents[3]
TEMPLATES = sorted((ROOT / "workflow_scripts").glob("*/*/*.md.j2"))
KNOWN = Declared(
    (f"a.{name}", kind, "")
    for name, kind in [("x", "count"), ("y", "count"), ("word", "text"), ("reason_n", "text")]
)


def said(tmp_path, text: str, **values) -> list[str]:
    path = tmp_path / "chapter.md.j2"
    path.write_text(f"# A title\n\n{text}\n")
    assert title_of(path) == "A title"
    return told(path, Numbers(KNOWN.named({f"a.{name}": v for name, v in values.items()})), KNOWN)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"x": 1, "y": 2}, ["One {a.x}, more {a.y}. Two {a.y}.", "Three {a.y}. Four."]),
        ({"x": 1}, ["One {a.x}."]),
        ({"y": 2}, ["Three {a.y}. Four."]),
        ({"x": 1, "y": float("nan")}, ["One {a.x}."]),
        ({}, []),
    ],
)
def test_without_a_number_its_part_its_sentence_or_its_paragraph_is_left_out(
    tmp_path, values, expected
):
    text = "One {a.x}\n  [[, more {a.y}]].\nTwo {a.y}.\n\nThree {a.y}.\nFour."
    assert said(tmp_path, text, **values) == expected


@pytest.mark.parametrize(
    ("x", "expected"), [(-1, ["less"]), (0, ["same"]), (2, ["more"]), (None, [])]
)
def test_a_condition_holds_by_the_value_and_never_without_one(tmp_path, x, expected):
    text = (
        "{% if a.x < 0 %}\nless\n{% elif a.x >= 1 %}\nmore\n{% elif a.x == 0 %}\nsame\n{% endif %}"
    )
    assert said(tmp_path, text, x=x) == expected


def test_a_list_has_what_can_be_told_and_a_sentence_none_of_an_empty_one(tmp_path):
    text = "All: {% filter joined %}{a.x} | {a.y} | {a.word}{% endfilter %}."
    assert said(tmp_path, text, x=1, y=2, word="w") == ["All: {a.x}, {a.y} and {a.word}."]
    assert said(tmp_path, text, x=1, word="w") == ["All: {a.x} and {a.word}."]
    assert said(tmp_path, text) == []
    text = (
        'Because {% filter joined("; ") %}'
        '{% for n in numbered("a.reason_") %}{a.reason_{{ n }}} | {% endfor %}{% endfilter %}.'
    )
    assert said(tmp_path, text, reason_1="r", reason_2="s") == [
        "Because {a.reason_1}; {a.reason_2}."
    ]


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [(9, 1, ["above it"]), (0, 9, ["below it"]), (5, 6, ["about it"]), (5, None, [])],
)
def test_words_are_chosen_by_standard_errors(tmp_path, x, y, expected):
    text = '{{ compared(errors_apart(a.x, 2, a.y, 2), "below", "about", "above") }} it'
    assert said(tmp_path, text, x=x, y=y) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{a.wrod}", r"'a\.wrod'\. Did you mean 'a\.word'"),
        ("{% if a.x and a.wrod %}\nnever\n{% endif %}", r"'a\.wrod'\. Did you mean 'a\.word'"),
        ("{% if a.x %}\nno end", "endif"),
        ("{{ a.x }}", "stands as {name}"),
        ("{{ compare(a.x) }}", "'compare' is undefined"),
    ],
)
def test_a_mistake_in_a_template_is_an_error_that_names_the_file(tmp_path, text, complaint):
    with pytest.raises(UserError, match=rf"chapter\.md\.j2: .*{complaint}"):
        said(tmp_path, text, x=1)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.parent.name + "/" + path.name)
def test_a_template_names_numbers_that_are_declared_and_types_none(path):
    source = path.read_text()
    assert names_in(source) <= set(declared())
    words = re.sub(r"\{.*?\}|bfloat16|texts of 2025", "", source, flags=re.DOTALL)
    assert not re.search(r"\d", words)
    assert title_of(path)


def draw(chance: random.Random) -> Numbers:
    """Any values that numbers may have, some of them missing."""
    texts = {
        "run.source": ["miniature", "huggingface"],
        "run.devices": ["cpu", "cuda:0"],
        "chunking.pruned_best": ["1", "1, 2"],
    }
    missing = chance.choice([0, 0.2])
    values = {
        name: chance.choice(texts.get(name, ["word"]) if kind == "text" else [-3, 0, 0, 1, 3])
        for name, (kind, _) in declared().items()
        if not name.startswith("published.reason") and chance.random() >= missing
    }
    reasons = {"published.reason_1": "it was not measured", "published.reason_1_times": 2}
    return numbers_of(values | reasons)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.parent.name + "/" + path.name)
def test_every_word_is_told_of_some_numbers_and_never_of_missing_ones(path):
    chance = random.Random(7)
    text = ""
    for _ in range(200):
        numbers = draw(chance)
        paragraphs = tell(path, numbers)
        assert set(PLACE.findall(" ".join(paragraphs))) <= set(numbers)
        text += " ".join([*paragraphs, ""])
    source = path.read_text().partition("\n")[2]
    for words in re.split(r"(?s)\{%.*?%\}|\{\{.*?\}\}|\{[a-z_.0-9]+\}|\[\[|\]\]|[|\n}{]", source):
        assert " ".join(words.split()).lstrip(",.; ") in text, words


def test_no_two_chapters_declare_the_same_number_and_each_can_be_printed_by_its_name():
    assert all(PLACE.fullmatch(f"{{{name}}}") for name in declared())
    assert len({study.title for study in STUDIES}) == len(STUDIES)
    with pytest.raises(ValueError, match="twice"):
        Declared([("a.<x|y>", "count", ""), ("a.y", "count", "")])
