"""What a reader of the report is told of a study's numbers."""

from typing import Any

from workflow_scripts.paper.studies import make_numbers
from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Numbers, filled
from workflow_scripts.render.prose import told
from workflow_scripts.render.words import CLEAR


def make_story_numbers(values: dict[str, Any]) -> Numbers:
    return make_numbers({"limit.clear": CLEAR, **values})


def write_story(study: Study, values: dict[str, Any]) -> str:
    numbers = make_story_numbers(values)
    paragraphs = told(study.prose, numbers)
    return " ".join(filled(text, lambda name: numbers[name].text) for text in paragraphs)
