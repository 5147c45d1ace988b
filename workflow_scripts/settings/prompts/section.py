"""Configure the models and runs of prompt ablations."""

from workflow_scripts.settings.compute import Dtype
from workflow_scripts.settings.names import CheckpointName, Folder
from workflow_scripts.settings.section import Count, Listed, Section

FOLDER = "config/prompts"
PUBLISHED_MODEL = "meta-llama/Llama-3.2-1B-Instruct"


class Prompts(Section):
    models: Listed[CheckpointName]
    """Models to prompt, by name or by folder (./my-checkpoint), and checkpoints that
    chunking.checkpoints names, such as org/name@k2m12; an empty list for none."""
    runs: Listed[str] | None
    """Runs by the names of their files; null makes every run in the folder."""
    dtype: Dtype | None
    """Dtype of the model in all runs; null is what each run names, and in the miniature world
    compute.dtype: the published runs name float16, which is five times as slow on a CPU."""
    folder: Folder
    """Folder of the runs, one YAML file each. Files are looked up in the working directory first,
    then beside the Snakefile, then among the runs that come with the workflow."""
    max_items_per_subject: Count | None
    """Maximum number of questions per subject, the first ones; null uses all. 6 are enough to see
    the runs work; a number to be reported needs null."""
