"""Test that an invalid config is rejected with all its problems, each in one actionable sentence."""

import re

import pytest
import yaml

from tests.tables import load_table
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError

# Prefixes of lines of bad_configs.txt: @ for keys of a chunked checkpoint, % for keys of a recipe.
_TEMPLATES = {
    "@": "chunking: {{checkpoints: [{{model: miniature/Qwen2-1M-Instruct, {}}}]}}",
    "%": "training: {{recipes: {{miniature-cpt: {{{}}}}}}}",
}


def get_problems(override) -> list[str]:
    with pytest.raises(UserError) as error:
        load(override)
    # pydantic's message must not appear as the cause of the error.
    assert error.value.__cause__ is None
    return error.value.problems


@pytest.mark.parametrize("case", load_table(__file__, "bad_configs.txt"), ids=lambda case: case[0])
def test_bad_config(case, here):
    text, *texts = case
    if template := _TEMPLATES.get(text[0]):
        text = template.format(text[2:])
    (sentence,) = get_problems(yaml.safe_load(f"{{{text}}}"))
    assert all(text in sentence for text in texts), sentence
    assert len(sentence.splitlines()) == 1


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
