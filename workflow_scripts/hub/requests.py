"""Parameters of the job that builds a chunked checkpoint."""

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.settings import Settings


class BuildRequest(JobParams):
    id: str
    checkpoint: Checkpoint
    seed: int


def build_request(settings: Settings, name: str) -> BuildRequest:
    """Build the request of a checkpoint by its name in paths."""
    id = str(CheckpointId.parse(name))
    return BuildRequest(id=id, checkpoint=settings.checkpoints()[id], seed=settings.seed)
