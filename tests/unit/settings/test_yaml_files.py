"""Test that malicious or careless YAML is rejected quickly with one sentence."""

import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.yaml_files import read_yaml

# Nine nested levels of nine aliases: a billion values in nine lines.
_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_BOMB, "has an alias"),
        ("a: !!python/object/apply:os.system ['echo']", r"os\.system"),
        ("seed: 1\nharmony: {}\nseed: 2", "has the key 'seed' twice"),
        ("[" * 100_000, "nested more than 100 levels"),
        ("a: 0x" + "9" * 5000, "has a number of more than 100 digits"),
        ("a: \x00", "cannot be read as YAML"),
    ],
    ids=["bomb", "call", "twice", "deep", "huge", "null"],
)
def test_hostile_yaml(tmp_path, text, expected):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=expected) as error:
        read_yaml(path)
    (sentence,) = error.value.problems
    assert sentence.startswith(str(path)) and len(sentence) < 1000 and "\n" not in sentence
