"""Configure models that run on a server."""

from typing import Annotated

from pydantic import AfterValidator, Field

from workflow_scripts.settings.section import Count, NonEmptyText, Section


class Served(Section):
    endpoint: Annotated[
        str,
        AfterValidator(lambda address: address.rstrip("/")),
        Field(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$"),
    ]
    """Address of a completions API, such as http://node7:8000/v1."""
    name: NonEmptyText | None = None
    """The server's name for the model; null is its name on the hub."""
    max_concurrency: Count = 8
    """Number of concurrent requests."""
