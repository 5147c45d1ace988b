"""Where models and datasets lie."""

from pydantic import Field

from workflow_scripts.settings.section import Section


class Hub(Section):
    path: str = Field(
        "resources/hub",
        min_length=1,
        description=(
            "Folder of models and datasets, fetched or generated; it may be a link to a large disk."
            " Use one folder per source."
        ),
    )
    lock: str = Field(
        "config/hub.lock.tsv",
        min_length=1,
        description=(
            "Lock file: the commit each model and dataset of the hub resolved to when first fetched."
        ),
    )
