"""Run the main function of a script as a Snakemake job, with log, threads, offline mode and error messages."""

import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.gpus import reserve_gpus
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.hardware_errors import describe_hardware_error
from workflow_scripts.core.provenance import measure_peak_memory_mb

_THREAD_LIBRARIES = ("OMP", "MKL", "OPENBLAS", "RAYON")  # tokenizers use Rayon
# oneDNN keeps the memory of each shape that it has multiplied in bfloat16: with its 1,024 shapes gigabytes, with
# these 32, which are more than a model's layers have, no slower.
_ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "true", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "32"}
# transformers and datasets follow huggingface_hub, which sends no telemetry either when it is offline.
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_EVALUATE_OFFLINE": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}

COST_START = '{"rule": '  # of the line of the log that has the cost


def run_job(main: Callable[..., None], job: Any, *, network: bool = False) -> None:
    """Call `main` with the values of the job that its arguments name; a UserError ends the job with a message.

    Values are inputs, outputs, wildcards, params, `params.arguments`, log and resources. Inputs and outputs are a Path,
    or a list of Paths if the name has several files; they override a wildcard of the same name.

    All output goes to the log. A line of the log has the seconds and the peak memory of a finished job, beside the
    memory that it requested. Without `network` Hugging Face's libraries are offline.

    The number of compute threads is the rule's `compute_threads` parameter if it has one, and does not depend on
    the machine, because PyTorch's sums on a CPU depend on it.
    """
    resources = dict(job.resources.items())
    files = [*job.input.items(), *job.output.items()]
    arguments = {
        **dict(job.wildcards.items()),
        "log": Path(job.log[0]),
        "resources": resources,
        **{name: _convert_paths(paths) for name, paths in files},
        **dict(job.params.items()),
        **getattr(job.params, "arguments", {}),
    }
    accepted = inspect.signature(main).parameters
    threads = getattr(job.params, "compute_threads", None) or job.threads
    configure_libraries(threads, network=network)
    started = time.monotonic()
    redirect_output(Path(job.log[0]))
    try:
        reserve_gpus(resources)
        main(**{name: value for name, value in arguments.items() if name in accepted})
        cost = {
            "rule": job.rule,
            "seconds": round(time.monotonic() - started, 1),
            "peak_mb": measure_peak_memory_mb(),
            "requested_mb": resources.get("mem_mb"),
        }
        print(json.dumps(cost))
    except UserError as error:
        print(f"{job.rule}: {error}")
        sys.exit(error.exit_code)
    except Exception as error:
        print(traceback.format_exc())
        if problem := describe_hardware_error(error):
            print(f"{job.rule}: {problem}")
        sys.exit(1)


def redirect_output(log: Path) -> None:
    """Redirect the output of this process and its children to the log, that of compiled code too."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    # stderr writes each line at once, so the log of a killed job has its last lines.
    sys.stdout = sys.stderr


def configure_libraries(threads: int, *, network: bool = False) -> None:
    """Set the environment of libraries before their import: threads, memory and, without `network`, offline mode."""
    os.environ |= {f"{name}_NUM_THREADS": str(threads) for name in _THREAD_LIBRARIES} | _ENVIRONMENT
    # Batches have many lengths, which would fragment the GPU memory of PyTorch's default allocator.
    os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    if not network:
        os.environ |= _OFFLINE


def _convert_paths(files: Any) -> Path | list[Path]:
    """Convert a named input or output of Snakemake to a path or a list of paths."""
    return Path(files) if isinstance(files, str) else [Path(file) for file in files]
