"""The studies of the report, in the order of its chapters, each with the functions that compute its numbers."""

from workflow_scripts.studies.chunking import chapter as chunking
from workflow_scripts.studies.harmony import chapter as harmony
from workflow_scripts.studies.prompts import chapter as prompts
from workflow_scripts.studies.published import chapter as published
from workflow_scripts.studies.reproduction import chapter as reproduction
from workflow_scripts.studies.suite import chapter as suite

STUDIES = {
    "published": published.NUMBERS,
    "harmony": harmony.NUMBERS,
    "chunking": chunking.NUMBERS,
    "prompts": prompts.NUMBERS,
    "suite": suite.NUMBERS,
    "reproduction": reproduction.NUMBERS,
}
