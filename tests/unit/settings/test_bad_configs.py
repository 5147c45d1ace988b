"""A bad config is refused with all of its problems, each in one sentence a person can act on."""

import pytest

from tests.bad_configs import BAD_CONFIGS, BadConfig
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError


@pytest.mark.parametrize("bad", BAD_CONFIGS, ids=lambda bad: bad.name)
def test_each_problem_is_one_sentence(bad: BadConfig, here):
    with pytest.raises(UserError) as raised:
        load(bad.override)
    # Nothing of what pydantic said may follow as the cause of the error.
    assert raised.value.__cause__ is None
    problems = raised.value.problems
    assert len(problems) == len(bad.problems), problems
    for sentence, texts in zip(problems, bad.problems, strict=True):
        assert all(text in sentence for text in texts), sentence
        assert len(sentence.splitlines()) == 1
        assert bad.hidden not in sentence


def test_long_values_are_cut():
    with pytest.raises(UserError) as raised:
        load({"compute": {"device": "x" * 5000}})
    assert len(str(raised.value)) < 300
