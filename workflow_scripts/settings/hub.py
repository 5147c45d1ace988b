"""Where models and datasets lie."""

from workflow_scripts.settings.names import PlainPath
from workflow_scripts.settings.section import Section


class Hub(Section):
    path: PlainPath = "resources/hub"
    """Folder of models and datasets, fetched or generated; it may be a link to a large disk. Use
    one folder per source."""
    lock: PlainPath = "config/hub.lock.tsv"
    """Lock file: the commit each model and dataset of the hub resolved to when first fetched."""
