"""The studies of the report, in the order of its chapters."""

from workflow_scripts.paper.numbers import REPRODUCTION
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
