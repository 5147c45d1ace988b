"""All studies of the report, in the order of its chapters."""

from workflow_scripts.paper.numbers import REPRODUCTION
from workflow_scripts.render.numbers import Numbers, Values, name_numbers, read_declared
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


def make_numbers(values: Values) -> Numbers:
    """Name values by what the chapters declare of them."""
    files = dict.fromkeys(study.declared for study in STUDIES)
    return name_numbers(values, read_declared(*files))
