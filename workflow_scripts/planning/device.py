"""FLOPs of a model's passes, and the peak of the GPU that a job finds."""

import re
from pathlib import Path

from workflow_scripts.settings.names import find_file
from workflow_scripts.settings.tables import Tables, read_devices

# Per parameter and token: a forward pass; a training step, without and with gradients of the weights.
FORWARD_FLOPS, FROZEN_FLOPS, TRAINING_FLOPS = 2, 4, 6


def half_peak(gpu: str) -> float | None:
    """Return the FLOP/s of a GPU in 16 bits by PyTorch's name of it; None where no row of devices.tsv fits."""
    path = find_file(Tables.model_fields["devices"].default, Path(__file__).parents[2])
    assert path is not None, "config/devices.tsv is part of the workflow"
    words = set(re.findall(r"\w+", gpu))
    rows = [row for row in read_devices(path).values() if words >= set(row.device.split("-"))]
    best = max(rows, key=lambda row: row.device.count("-"), default=None)
    return best.half_gflops * 1e9 if best else None
