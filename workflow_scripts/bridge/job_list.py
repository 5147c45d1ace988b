"""Every job of a config as Snakemake itself would run it, as plain values.

Snakemake plans in a process of its own, which takes no lock, writes nothing, and so works while a run
is going on.

    python -m workflow_scripts.bridge.job_list <Snakefile> <config file> <target>...
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from workflow_scripts.bridge.snakemake_settings import list_needed_jobs
from workflow_scripts.core.errors import UserError

_ENOUGH = 1_024  # cores: Snakemake cuts a job's threads to what there is
_TRIGGERS = ("mtime", "params", "input", "software-env")  # as profiles/default says
# What the Snakefile says of its jobs: by rule, what one needs, as a function of its wildcards.
_NEEDS = "NEEDS"
# By wildcard and its value, the study that declares a product.
_STUDIES = "STUDY_OF"
# A run beside us removes files between two looks of Snakemake's at them, and then it cannot plan.
_FILE_VANISHED, _LOOKS = 75, 5  # what the process exits with, and how often it is asked
# What it is told: until this rule has run nobody knows which jobs there will be, so count all that may be.
_CHECK, _AS_IF = "check_requests", "AS_IF_ACCEPTED"


def list_jobs(snakefile: Path, config: dict[str, Any], targets: tuple[str, ...]) -> dict[str, Any]:
    """The jobs, each behind those that it waits for, and whether unchecked requests count as accepted."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        # In its own order: parameters are compared as they are written.
        yaml.safe_dump(config, file, sort_keys=False)
        file.flush()
        for _ in range(_LOOKS):
            run = subprocess.run(
                [sys.executable, "-m", __name__, str(snakefile), file.name, *targets],
                check=False,
                capture_output=True,
                text=True,
                env=_environment(),
            )
            if run.returncode != _FILE_VANISHED:
                break
    if run.returncode:
        raise UserError(f"Snakemake cannot plan this config: {run.stderr.strip()}")
    return json.loads(run.stdout)


def _environment() -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path}


def _listed(snakefile: Path, config: Path, targets: list[str]) -> dict[str, Any]:
    from snakemake.api import SnakemakeApi
    from snakemake.settings.enums import Quietness, RerunTrigger
    from snakemake.settings.types import (
        ConfigSettings,
        DAGSettings,
        OutputSettings,
        ResourceSettings,
    )

    output = OutputSettings(dryrun=True, quiet={Quietness.ALL}, enable_file_logging=False)
    with SnakemakeApi(output) as api:
        workflow_api = api.workflow(
            resource_settings=ResourceSettings(cores=_ENOUGH),
            config_settings=ConfigSettings(configfiles=[config]),
            snakefile=snakefile,
        )
        triggers = frozenset(map(RerunTrigger.parse_choice, _TRIGGERS))
        dag_api = workflow_api.dag(DAGSettings(targets=frozenset(targets), rerun_triggers=triggers))
        # What `snakemake --dag` does before it prints; there is no public way to the jobs.
        workflow = dag_api.workflow_api._workflow
        _build(workflow)
        unchecked = any(job.rule.name == _CHECK for job in list_needed_jobs(workflow))
        if unchecked:  # to leave out what may be accepted would be to plan too little
            workflow.globals[_AS_IF] = True
            _build(workflow)
        return {"as_if_accepted": unchecked, "jobs": _described(workflow)}


def _build(workflow) -> None:
    from snakemake.jobs import Job

    # Another's results may be read-only to us.
    Job.check_protected_output = _unchecked
    workflow._prepare_dag(forceall=False, ignore_incomplete=True, lock_warn_only=False, nolock=True)
    workflow._build_dag()


def study_of_product(workflow, wildcards: Mapping[str, str]) -> str | None:
    """Of a table, a figure or a page, which share a rule each: the study that declares it."""
    studies = workflow.globals.get(_STUDIES, {})
    return next((studies[one] for one in wildcards.items() if one in studies), None)


async def _unchecked(job) -> None:
    """Nothing is written here."""


def _described(workflow) -> list[dict[str, Any]]:
    dag, needs = workflow.dag, workflow.globals[_NEEDS]
    place: dict[Any, int] = {}
    described: list[dict[str, Any]] = []
    for level in dag.toposorted():
        for job in sorted(level, key=lambda job: (job.rule.name, list(job.output))):
            place[job] = len(described)
            need = needs.get(job.rule.name)
            described.append(
                {
                    "rule": job.rule.name,
                    "rule_file": str(job.rule.snakefile),
                    "product_of": study_of_product(workflow, job.wildcards_dict),
                    "works": bool(job.output or job.rule.script),  # a target only gathers
                    "wildcards": dict(job.wildcards_dict),
                    "need": asdict(need(job.wildcards)) if need else None,
                    "threads": int(job.threads),
                    "is_done": not dag.needrun(job),
                    "log": str(job.log[0]) if job.log else None,
                    "outputs": list(map(str, job.output)),
                    "after": sorted(place[other] for other in dag.dependencies[job]),
                    "retries": job.rule._restart_times or 0,  # asking in public needs an executor
                }
            )
    return described


def _tells_of_a_file_gone(error: BaseException | None) -> bool:
    """Itself, or as what it came of: Snakemake turns some into errors of its own."""
    while error is not None and not isinstance(error, FileNotFoundError):
        error = error.__cause__ or error.__context__
    return error is not None


if __name__ == "__main__":
    try:
        listed = _listed(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
    except Exception as error:
        if not _tells_of_a_file_gone(error):
            raise
        print(error, file=sys.stderr)
        sys.exit(_FILE_VANISHED)
    with open(1, "w", closefd=False) as stdout:
        json.dump(listed, stdout)
