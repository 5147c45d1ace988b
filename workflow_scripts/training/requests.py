"""Define the parameters of the jobs that tokenise a recipe's data and train one stage."""

from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.training import SampleKeys
from workflow_scripts.settings.training_keys import TrainingKeys


class SamplesRequest(JobParams):
    """Parameters of the tokenisation of a recipe's data, which runs once for all checkpoints of a model."""

    hub: str
    keys: SampleKeys
    max_length: int


class StageRequest(JobParams):
    """Parameters of one training stage of a checkpoint; only those that affect its outcome."""

    id: str
    recipe: str
    keys: TrainingKeys
    validation: float
    seed: int
    device: str
    attention: str
    threads: int
