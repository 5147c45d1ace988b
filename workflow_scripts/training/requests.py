"""What tokenising a recipe's data and one stage of training are asked."""

from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.training import SampleKeys
from workflow_scripts.settings.training_keys import TrainingKeys


class SamplesRequest(JobParams):
    """What tokenising a recipe's data is asked, once for all checkpoints of a model."""

    hub: str
    keys: SampleKeys
    max_length: int


class StageRequest(JobParams):
    """What one stage of a checkpoint's training is asked: nothing that does not decide its outcome."""

    id: str
    recipe: str
    keys: TrainingKeys
    validation: float
    seed: int
    device: str
    attention: str
    threads: int
