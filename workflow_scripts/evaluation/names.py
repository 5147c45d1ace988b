"""Name metrics and clusters of items, in records and wherever results of a harness are read."""

from collections.abc import Mapping, Sequence
from typing import Any

from workflow_scripts.core.files import hash_text


def metric_name(metric: str, filter_name: str) -> str:
    """Return lm-eval's own key, without the filter that does nothing: `acc`, `exact_match,strict-match`."""
    return metric if filter_name == "none" else f"{metric},{filter_name}"


def hash_cluster(doc: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """Hash what these columns hold, in whatever order: items that share it belong together."""
    parts = sorted(str(doc[name]) for name in columns)
    return hash_text("\n".join(parts))[:16] if parts else None
