"""Render the report's prose for a study from given numbers."""

from typing import Any

from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values, fill, format_number, select_computed
from workflow_scripts.render.prose import render_prose
from workflow_scripts.render.words import CLEAR


def make_story_numbers(values: dict[str, Any]) -> Values:
    return select_computed({"limit.clear": CLEAR, **values})


def write_story(study: Study, values: dict[str, Any]) -> str:
    numbers = make_story_numbers(values)
    paragraphs = render_prose(study.prose, numbers)
    return " ".join(fill(text, lambda place: format_number(place, numbers)) for text in paragraphs)
