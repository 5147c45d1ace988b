"""Models that a server runs."""

from pydantic import Field

from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.section import Section
from workflow_scripts.settings.tables import Endpoint


class Served(Section):
    endpoint: Endpoint
    """Address of a completions API, such as http://node7:8000/v1."""
    name: str | None = Field(None, min_length=1)
    """The server's name for the model; null is its name on the hub."""
    at_once: int = Field(8, ge=1)
    """Number of concurrent requests."""


class ServedRequest(StepRequest):
    """The parameters of rule describe_served_model."""

    model: str
    served: Served
