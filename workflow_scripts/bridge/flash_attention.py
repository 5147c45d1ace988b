"""flash-attn: what jobs of a run would miss for it is said before the first of them."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from workflow_scripts.bridge.gpus import gpus_here, list_capabilities
from workflow_scripts.settings.compute import FLASH

_AMPERE = (8, 0)


def missing_for_flash(workflow, config: dict[str, Any]) -> str | None:
    """Return a sentence where the package is missing, or where jobs run on this machine, a GPU that can run it.

    Of the nodes of a cluster only their jobs know.
    """
    jobs = [job for job in workflow.dag.needrun_jobs() if FLASH in str(job.params)]
    problem = next(_find_problems(workflow, jobs), None) if jobs else None
    return problem and (
        f"compute.attention is {config['compute']['attention']!r}, and {problem};"
        " expected that, or another attention. Nothing was done."
    )


def _find_problems(workflow, jobs: list) -> Iterator[str]:
    if find_spec("flash_attn") is None and not all(job.conda_env for job in jobs):
        yield (
            f"flash-attn is not installed in {sys.prefix}, where `make install FLASH=yes` puts the"
            " version in envs/requirements-flash.txt"
        )
    if not workflow.executor_plugin.common_settings.local_exec:
        return
    if not gpus_here():
        yield "this machine has no GPU of compute capability 8.0 or more, which flash-attn needs"
    for number, (major, minor) in list_capabilities().items():
        if (major, minor) < _AMPERE:
            yield (
                f"GPU {number} of this machine has compute capability {major}.{minor}, where"
                " flash-attn needs 8.0 or more"
            )
