"""Render a chapter's text from a Jinja2 template and the numbers of numbers.json.

A paragraph ends at an empty line. A sentence begins at the margin and continues in the indented lines below it. It is
left out if a number that it names is missing. `{{ name | format }}` prints a number; `_` stands for the dots in its
name.
"""

import re
from pathlib import Path

from jinja2 import Environment, meta

from workflow_scripts.render.numbers import FORMATS, Values


def read_title(template: Path) -> str:
    """Return the heading in the template's first line."""
    return template.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def render_prose(template: Path, numbers: Values) -> list[str]:
    """Render the paragraphs of a template, leaving out sentences with missing numbers."""
    environment = Environment()
    environment.filters |= FORMATS
    values = {name.replace(".", "_"): value for name, value in numbers.items()}
    paragraphs = []
    for source in template.read_text(encoding="utf-8").split("\n\n")[1:]:
        words = []
        for sentence in re.split(r"\n(?=\S)", source):
            needed = meta.find_undeclared_variables(environment.parse(sentence))
            if needed <= values.keys():
                words += environment.from_string(sentence).render(values).split()
        paragraphs.append(" ".join(words))
    return list(filter(None, paragraphs))
