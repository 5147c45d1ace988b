"""Where models and datasets lie."""

from pydantic import Field

from workflow_scripts.settings.names import PlainPath
from workflow_scripts.settings.section import Section


class Hub(Section):
    path: PlainPath = Field(
        "resources/hub",
        description=(
            "Folder of models and datasets, fetched or generated; it may be a link to a large disk."
            " Use one folder per source."
        ),
    )
    lock: PlainPath = Field(
        "config/hub.lock.tsv",
        description=(
            "Lock file: the commit each model and dataset of the hub resolved to when first fetched."
        ),
    )
