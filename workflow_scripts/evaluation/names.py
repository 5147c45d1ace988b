"""Name metrics and clusters of items in records and in the results of a harness."""

from collections.abc import Mapping, Sequence
from typing import Any

from workflow_scripts.core.files import hash_text


def metric_name(metric: str, filter_name: str) -> str:
    """Return lm-eval's metric key, without the filter `none`: `acc`, `exact_match,strict-match`."""
    return metric if filter_name == "none" else f"{metric},{filter_name}"


def hash_cluster(doc: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """Hash the values of these columns, independent of their order; items with equal hash form a cluster."""
    parts = sorted(str(doc[name]) for name in columns)
    return hash_text("\n".join(parts))[:16] if parts else None
