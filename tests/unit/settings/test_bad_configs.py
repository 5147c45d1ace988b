"""A bad config is refused with all of its problems, each in one sentence a person can act on."""

import pytest

from tests.bad_configs import BAD_CONFIGS, BadConfig
from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.load import load_settings


def problems_of(config) -> list[str]:
    with pytest.raises(UserError) as raised:
        load_settings(config, ROOT)
    # Nothing of what pydantic said may follow as the cause of the error.
    assert raised.value.__cause__ is None
    return raised.value.problems


@pytest.mark.parametrize("bad", BAD_CONFIGS, ids=lambda bad: bad.name)
def test_each_problem_is_one_sentence(bad: BadConfig, here):
    problems = problems_of(merged(bad.override))
    assert len(problems) == len(bad.problems), problems
    for sentence, texts in zip(problems, bad.problems, strict=True):
        assert all(text in sentence for text in texts), sentence
        assert sentence.endswith(".") and len(sentence.splitlines()) == 1
        assert bad.hidden not in sentence


def test_names_of_bad_configs_are_unique():
    names = [bad.name for bad in BAD_CONFIGS]
    assert len(set(names)) == len(names) >= 45


@pytest.mark.parametrize("config", [None, [], "source: miniature"])
def test_a_config_that_is_no_mapping_is_refused(config):
    (sentence,) = problems_of(config)
    assert sentence.startswith("The config is ") and sentence.endswith("mapping of sections.")


def test_long_values_are_cut():
    (sentence,) = problems_of(merged({"compute": {"device": "x" * 5000}}))
    assert len(sentence) < 300
