"""How metrics and what items share are called, in records and wherever results of a harness are read."""

from collections.abc import Mapping, Sequence
from typing import Any

from workflow_scripts.core.files import sha256_text


def metric_name(metric: str, filter_name: str) -> str:
    """lm-eval's own key, without the filter that does nothing: `acc`, `exact_match,strict-match`."""
    return metric if filter_name == "none" else f"{metric},{filter_name}"


def cluster_of(doc: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """The same for items that share what these columns name, in whatever order they stand there."""
    parts = sorted(str(doc[name]) for name in columns)
    return sha256_text("\n".join(parts))[:16] if parts else None
