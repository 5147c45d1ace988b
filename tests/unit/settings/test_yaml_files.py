"""Hostile or careless YAML is refused in a sentence, at once."""

import pytest
import yaml

from tests.workflow.snakemake import ROOT
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.yaml_files import read_yaml

# Nine levels of nine: a billion values in nine lines.
_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_BOMB, r"line 1: &a0 is an anchor"),
        ("a: !!python/object/apply:os.system ['echo']", r"line 1: .*os\.system is a tag"),
        ("a: !!python/name:os.system", r"line 1: .* is a tag"),
        (
            "seed: 1\nharmony: {}\nseed: 2",
            r"line 3: the key 'seed' .* second time \(first in line 1",
        ),
        ("h:\n  a: 1\n  b: {c: 1, c: 2}", r"line 3: the key 'c' stands here a second time"),
        ("[" * 60 + "]" * 60, "nested more than 50 levels"),
        ("[" * 100_000, "nested more than 50 levels|cannot be read as YAML"),
        ("a: " + "9" * 5000, "line 1: a number of 5,000 signs; expected fewer"),
        ("a:\n- " + ":".join(["59"] * 3000), "line 2: a number of 8,999 signs; expected fewer"),
        ("a: 2020-13-45", "cannot be read as YAML"),
        ("x" * 1_000_001, "has 1,000,001 characters; expected at most 1,000,000"),
        ("a: [1, 2", "cannot be read as YAML"),
        ("a: \x00", "cannot be read as YAML"),
    ],
    ids=[
        "bomb",
        "call",
        "name",
        "twice",
        "below",
        "deep",
        "deeper",
        "huge",
        "in-base-60",
        "date",
        "long",
        "cut",
        "null",
    ],
)
def test_refused_with_the_file_and_the_line(tmp_path, text, expected):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=expected) as error:
        read_yaml(path)
    (sentence,) = error.value.problems
    assert sentence.startswith(str(path))
    assert len(sentence) < 1000
    assert "\n" not in sentence


def test_plain_yaml_is_read_as_ever():
    for path in [*ROOT.glob("config/*.yaml"), *ROOT.glob("config/prompts/*.yaml")]:
        assert read_yaml(path) == yaml.safe_load(path.read_text())


def test_equal_keys_of_different_mappings_and_lists_of_equal_values_are_fine(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("a: {x: 1}\nb: {x: 1}\nc: [{x: 1}, {x: 1}, 1, 1]\nd: {e: {d: d}}\n")
    assert read_yaml(path)["c"] == [{"x": 1}, {"x": 1}, 1, 1]
