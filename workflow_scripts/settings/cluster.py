"""Configure the machines that jobs run on, for planning and for the resources of jobs."""

from pydantic import Field

from workflow_scripts.settings.section import Count, Section


class Cluster(Section):
    gpu: str = "A100-80GB"
    """The cluster's GPU, by its name in the devices table."""
    gpus_per_node: Count = 8
    """GPUs per node; no job requests more."""
    node_memory_gb: Count = 500
    """Memory of a node available to a job; no job requests more."""
    max_job_hours: Count = 24
    """The partition's time limit; no job requests more. A job that reaches it keeps what it has
    finished, and resumes from there when it is retried."""
    tasks_per_job: Count | None = None
    """Number of tasks of the grid, or of the leaderboard, that one job measures on a model, which
    it loads once. Each task has its own record. Null is all tasks."""
    time_safety_factor: float = Field(2.0, ge=1)
    """A job requests the estimated time times this factor plus ten minutes, and twice that with
    each retry."""
    utilisation: float = Field(0.35, gt=0, le=1)
    """Fraction of the GPU's peak FLOP/s, and of its memory bandwidth, that jobs reach."""
