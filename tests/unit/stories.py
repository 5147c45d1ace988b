"""Render the report's prose for a study from given numbers."""

from typing import Any

from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values, select_computed
from workflow_scripts.render.prose import render_prose
from workflow_scripts.render.words import CLEAR


def make_story_numbers(values: dict[str, Any]) -> Values:
    return select_computed({"limit.clear": CLEAR, **values})


def write_story(study: Study, values: dict[str, Any]) -> str:
    return " ".join(render_prose(study.prose, make_story_numbers(values)))
