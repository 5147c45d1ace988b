"""The machines that jobs run on: what planning and the requests of jobs are computed with."""

from typing import Annotated

from pydantic import Field

from workflow_scripts.settings.names import JsonFile, known_in
from workflow_scripts.settings.section import Section

Device = Annotated[
    str, known_in("devices", "a device of the devices table"), Field(title="the name of a device")
]
Share = Annotated[float, Field(gt=0, le=1)]


class Cluster(Section):
    gpu: Device = "A100-80GB"
    """The GPU that jobs get, by its name in the devices table."""
    gpus_per_node: int = Field(8, ge=1)
    """GPUs of a node; no job asks for more."""
    node_memory_gb: int = Field(500, ge=1)
    """Memory of a node that a job may have; no job asks for more."""
    longest_hours: int = Field(24, ge=1)
    """The longest time that a partition grants; no job asks for more. What a job has finished by
    then is kept, and it resumes from there when it is tried again."""
    tasks_per_job: int | None = Field(None, ge=1)
    """Tasks of the grid, or of the leaderboard, that one job measures of a model, loading it once;
    each has a record of its own. Null is all of them."""
    reserve: float = Field(2.0, ge=1)
    """A job asks for the planned time times this, and ten minutes; more if tried again."""
    reading_use: Share = 0.3
    """Share of the device's peak that evaluation reaches when it reads."""
    training_use: Share = 0.35
    """Share of the device's peak that training reaches."""
    generating_use: Share = 0.5
    """Share of the memory's bandwidth that generating reaches."""
    measured: JsonFile | None = None
    """The JSON report of make bench-gpu on such a GPU; its rates then stand for the three shares.
    """
    disk_mb_per_second: int = Field(500, ge=1)
    """How fast a job reads a model from the hub folder."""
    download_mb_per_second: int = Field(50, ge=1)
    """How fast models and datasets are fetched."""
