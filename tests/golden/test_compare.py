"""Test that the comparison lists changed cells, and ignores the order of rows and columns."""

import pytest

from tests.golden.compare import compare_folders

BEFORE = "model,task,value\na,x,0.5\na,y,0.25\nb,x,1e-05\n"
KEYS = {"scores": ["model", "task"]}


def compare(tmp_path, after):
    for folder, text in (("before", BEFORE), ("after", after)):
        (tmp_path / folder).mkdir()
        if text is not None:
            (tmp_path / folder / "scores.csv").write_text(text)
    return compare_folders(tmp_path / "before", tmp_path / "after", KEYS)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("task,value,model\nx,0.00001,b\ny,0.2500000001,a\nx,0.5,a\n", []),
        ("model,task,value\na,x,0.5\na,y,0.250002\nb,x,1.2e-05\n", ["a, y] value: 0.25 -> 0.250002", "b, x]"]),
        ("model,task,value\na,x,\na,y,none\nb,x,1e-05\n", ["a, x] value: 0.5 -> empty", "a, y] value: 0.25 -> none"]),
        ("model,task,value\na,x,nan\na,y,0.25\nb,x,1e-05\n", ["a, x] value: 0.5 -> nan"]),
        ("model,task,value\na,x,0.5\na,z,0.25\nb,x,1e-05\n", ["a, y] value: 0.25 -> absent", "a, z] value: absent"]),
        (None, ["a, x] value: 0.5 -> absent", "a, y]", "b, x]"]),
    ],
)  # fmt: skip
def test_every_difference_is_listed(tmp_path, after, expected):
    lines = [str(difference) for difference in compare(tmp_path, after)]
    assert len(lines) == len(expected)
    assert all(words in line for words, line in zip(expected, lines, strict=True)), lines


def test_duplicate_key(tmp_path):
    with pytest.raises(ValueError, match="two rows"):
        compare(tmp_path, BEFORE + "a,x,0.5\n")
