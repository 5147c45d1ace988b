"""The studies of the report, in the order of its chapters, each with the functions that compute its numbers."""

from workflow_scripts.studies.chunking import chapter as chunking
from workflow_scripts.studies.harmony import chapter as harmony
from workflow_scripts.studies.prompts import chapter as prompts
from workflow_scripts.studies.published import chapter as published
from workflow_scripts.studies.reproduction import chapter as reproduction
from workflow_scripts.studies.suite import chapter as suite

STUDIES = {
    "published": published.NUMBER_FUNCTIONS,
    "harmony": harmony.NUMBER_FUNCTIONS,
    "chunking": chunking.NUMBER_FUNCTIONS,
    "prompts": prompts.NUMBER_FUNCTIONS,
    "suite": suite.NUMBER_FUNCTIONS,
    "reproduction": reproduction.NUMBER_FUNCTIONS,
}
