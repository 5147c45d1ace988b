"""All studies of the report, in the order of its chapters."""

from functools import cache
from pathlib import Path

from workflow_scripts.paper.numbers import REPRODUCTION
from workflow_scripts.render.numbers import Declared, Numbers
from workflow_scripts.render.prose import told
from workflow_scripts.studies.chunking.chapter import CHUNKING
from workflow_scripts.studies.harmony.chapter import HARMONY
from workflow_scripts.studies.prompts.chapter import PROMPTS
from workflow_scripts.studies.published.chapter import PUBLISHED
from workflow_scripts.studies.suite.chapter import SUITE

STUDIES = (
    PUBLISHED,
    HARMONY,
    CHUNKING,
    PROMPTS,
    SUITE,
    REPRODUCTION,
)


@cache
def declared() -> Declared:
    """Every number that prose may use."""
    return Declared.read(*dict.fromkeys(study.declared for study in STUDIES))


def tell(prose: Path, numbers: Numbers) -> list[str]:
    """The paragraphs of a template that can be told of these numbers."""
    return told(prose, numbers, declared())
