"""Compute the numbers that the report's text gives about the run."""

from collections import defaultdict
from typing import Any

import pandas as pd

from workflow_scripts.render.numbers import Values
from workflow_scripts.render.thresholds import MIN_CLEAR_Z
from workflow_scripts.stats.variance import TARGET_RELIABILITY


def compute_run_numbers(provenance: dict[str, Any]) -> Values:
    """Count what a run measured, from the result of `collect_provenance`."""
    studies = pd.DataFrame(provenance["studies"].values(), columns=["records", "items", "tokens"])
    seen = defaultdict(list, provenance["seen"])  # empty if there are no measurements
    return {
        "limit.clear": MIN_CLEAR_Z,
        "limit.reliability": TARGET_RELIABILITY,
        "run.source": provenance["config"]["source"],
        **studies.sum().add_prefix("run."),
        "run.models": len(provenance["models"]),
        "run.commits": len(seen["commits"]),
        "run.devices": ", ".join(seen["devices"]) or "none",
        "run.broken": len(provenance["broken"]),
    }
