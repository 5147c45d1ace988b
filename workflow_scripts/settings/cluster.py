"""Configure the machines that jobs run on, for planning and for the resources of jobs."""

from pydantic import Field

from workflow_scripts.settings.section import Count, Section


class Cluster(Section):
    gpu: str = "A100-80GB"
    """The GPU that jobs get, by its name in the devices table."""
    gpus_per_node: Count = 8
    """GPUs of a node; no job asks for more."""
    node_memory_gb: Count = 500
    """Memory of a node that a job may have; no job asks for more."""
    max_job_hours: Count = 24
    """The longest time that a partition grants; no job asks for more. What a job has finished by
    then is kept, and it resumes from there when it is tried again."""
    tasks_per_job: Count | None = None
    """Tasks of the grid, or of the leaderboard, that one job measures of a model, loading it once;
    each has a record of its own. Null is all of them."""
    time_safety_factor: float = Field(2.0, ge=1)
    """A job asks for the planned time times this, and ten minutes; more if tried again."""
    utilisation: float = Field(0.35, gt=0, le=1)
    """Share of the GPU's peak, and of its memory's bandwidth, that jobs reach."""
