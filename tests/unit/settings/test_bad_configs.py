"""Test that an invalid config is rejected with all its problems, each in one actionable sentence."""

import re

import pytest

from tests.bad_configs import BAD_CONFIGS
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError


def get_problems(override) -> list[str]:
    with pytest.raises(UserError) as error:
        load(override)
    # pydantic's message must not appear as the cause of the error.
    assert error.value.__cause__ is None
    return error.value.problems


@pytest.mark.parametrize("bad", BAD_CONFIGS, ids=lambda bad: bad.name)
def test_bad_config(bad, here):
    (sentence,) = get_problems(bad.override)
    assert all(text in sentence for text in bad.texts), sentence
    assert len(sentence.splitlines()) == 1 and bad.hidden not in sentence


def test_many_problems():
    override = {
        "sead": 1,
        "compute": {"thread": -1, "device": "x" * 5000},
        "harmony": {"tasks": ["sst2", "sst2", 5]},
        "chunking": {"checkpoints": [{"model": "miniature/Qwen2-1M", "num_chunks": 5}]},
    }
    keys = ["compute.device", "compute.thread", "chunking.checkpoints[0]", "harmony.tasks[2]"]
    problems = get_problems(override)
    assert [re.split(" is |:", problem)[0] for problem in problems] == [*keys, "sead"]
    assert all(len(problem) < 300 for problem in problems)
