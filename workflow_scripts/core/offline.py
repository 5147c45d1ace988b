"""Keep jobs off the network: only the rules that fetch may reach the hub."""

import os

# transformers and datasets follow huggingface_hub, which sends no telemetry either when it is offline.
_SWITCHES = (
    "HF_HUB_OFFLINE",
    "HF_EVALUATE_OFFLINE",
    "HF_DATASETS_DISABLE_PROGRESS_BARS",
    "HF_HUB_DISABLE_PROGRESS_BARS",
)


def set_offline_environment() -> None:
    """Set the environment of libraries before their import: no network, no progress bars in logs."""
    os.environ |= dict.fromkeys(_SWITCHES, "1")
    # Batches have many lengths, which would fragment the GPU memory of PyTorch's default allocator.
    if "PYTORCH_ALLOC_CONF" not in os.environ:  # newer name of the same variable
        os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
