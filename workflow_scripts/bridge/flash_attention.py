"""flash-attn: what jobs of a run would miss for it is said before the first of them."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from workflow_scripts.bridge.gpus import gpus_here, list_capabilities
from workflow_scripts.bridge.snakemake_settings import (
    deploys_software,
    list_needed_jobs,
    runs_jobs_here,
)
from workflow_scripts.settings.compute import FLASH

_AMPERE = (8, 0)


def find_flash_problem(workflow, config: dict[str, Any]) -> str | None:
    """Return a sentence where the package is missing, or where jobs run on this machine, a GPU that can run it.

    Of the nodes of a cluster only their jobs know.
    """
    asks = any(_get_attention(job.params) == FLASH for job in list_needed_jobs(workflow))
    problem = next(_find_problems(workflow), None) if asks else None
    return problem and (
        f"compute.attention is {config['compute']['attention']!r}, and {problem};"
        " expected that, or another attention. Nothing was done."
    )


def _get_attention(params) -> str | None:
    """Return what a job that loads a model is asked."""
    request = params.get("request") or {}
    if "cluster" in request:  # the whole config, to be shown
        return None
    return request.get("attention") or request.get("compute", {}).get("attention")


def _find_problems(workflow) -> Iterator[str]:
    if not deploys_software(workflow) and find_spec("flash_attn") is None:
        yield (
            f"flash-attn is not installed in {sys.prefix}, where `make install FLASH=yes` puts the"
            " version in envs/requirements-flash.txt"
        )
    if not runs_jobs_here(workflow):
        return
    if not gpus_here():
        yield "this machine has no GPU of compute capability 8.0 or more, which flash-attn needs"
    for number, (major, minor) in list_capabilities().items():
        if (major, minor) < _AMPERE:
            yield (
                f"GPU {number} of this machine has compute capability {major}.{minor}, where"
                " flash-attn needs 8.0 or more"
            )
