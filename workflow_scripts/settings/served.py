"""Models that a server runs."""

from workflow_scripts.settings.section import Count, Section, Words
from workflow_scripts.settings.tables import Endpoint


class Served(Section):
    endpoint: Endpoint
    """Address of a completions API, such as http://node7:8000/v1."""
    name: Words | None = None
    """The server's name for the model; null is its name on the hub."""
    max_concurrency: Count = 8
    """Number of concurrent requests."""
