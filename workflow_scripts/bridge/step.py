"""What every step does around its own work: log, threads, offline, and errors a person can read."""

import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.gpus import take_gpus
from workflow_scripts.bridge.redaction import output_into
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.hardware_errors import describe_hardware_error
from workflow_scripts.core.offline import block_network

_LIBRARIES = ("OMP", "MKL", "OPENBLAS", "RAYON")  # the last is the tokenizers'


def limit_library_threads(threads: int) -> dict[str, str]:
    """Return the environment in which compiled libraries take so many."""
    return {f"{name}_NUM_THREADS": str(threads) for name in _LIBRARIES}


def read_server_address(job: Any) -> str | None:
    """Read the address of the server that runs the model of a job, from the model's manifest."""
    model = getattr(getattr(job, "input", None), "model", None)
    if not isinstance(model, str) or Path(model).parts[-4:-3] != ("served",):
        return None
    return json.loads(Path(model).read_text(encoding="utf-8"))["served"]["endpoint"]


@contextmanager
def step(snakemake, *, network: bool = False) -> Iterator[None]:
    """Run a step's work: everything it prints goes to its log; a UserError ends it in one sentence.

    Without `network` it may reach nothing beyond this machine.

    The number of compute threads comes from the rule's `compute_threads` parameter where it has one,
    not from what the machine offers, because PyTorch's sums on a CPU depend on it.
    """
    threads = getattr(snakemake.params, "compute_threads", None) or snakemake.threads
    os.environ |= limit_library_threads(threads) | {"TOKENIZERS_PARALLELISM": "true"}
    with output_into(Path(snakemake.log[0])):
        server = read_server_address(snakemake)
        if not network:
            block_network(but_for=server)
        try:
            take_gpus(getattr(snakemake, "resources", {}))
            yield
        except UserError as error:
            print(f"{snakemake.rule}: {error}")
            sys.exit(error.exit_code)
        except Exception as error:
            print(traceback.format_exc())
            if problem := describe_hardware_error(error):
                print(f"{snakemake.rule}: {problem}")
            sys.exit(1)
