"""Render the report's prose for a study from its tables or from given numbers."""

from typing import Any

from workflow_scripts.paper.report import PACKAGE
from workflow_scripts.render.numbers import Values, select_computed
from workflow_scripts.render.prose import render_prose
from workflow_scripts.render.words import CLEAR


def make_story_numbers(values: dict[str, Any]) -> Values:
    return select_computed({"limit.clear": CLEAR, **values})


def write_story(study: str, values: dict[str, Any]) -> str:
    template = PACKAGE / f"studies/{study}/chapter.md.j2"
    return " ".join(render_prose(template, make_story_numbers(values)))
