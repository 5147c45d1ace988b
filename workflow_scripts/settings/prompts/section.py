"""Prompt ablations: which models are asked in which of the runs."""

from typing import Literal

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.names import CheckpointName, Folder
from workflow_scripts.settings.section import Count, Listed, Section

FOLDER = "config/prompts"
PUBLISHED_MODEL = "meta-llama/Llama-3.2-1B-Instruct"


class Prompts(Section):
    models: Listed[CheckpointName] = ()
    """Models to ask, by name, or by folder (./my-checkpoint), and chunked checkpoints by theirs,
    such as org/name@k2m12 for one that chunking.checkpoints names; an empty list for none."""
    runs: Listed[str] | None = None
    """Runs to make, by the names of their files; null makes every one in the folder."""
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    """Number format of the model in all runs; null is what each run names, and in the miniature
    world compute.dtype: the published runs name float16, in which a processor needs five times as
    long."""
    folder: Folder = FOLDER
    """Folder of the runs, one YAML file each. Files are looked up in the working directory first,
    then beside the Snakefile, then among the runs that come with the workflow."""
    max_items_per_subject: Count | None = 6
    """Questions of each of the 57 subjects, the first ones; null takes all of them. 6 are enough to
    see the runs work; a number to be reported needs null."""


def has_published_scores(checkpoint: CheckpointId, source: str) -> bool:
    """Tell whether published scores stand beside a checkpoint: in the miniature world all do."""
    return source == "miniature" or str(checkpoint) == PUBLISHED_MODEL
