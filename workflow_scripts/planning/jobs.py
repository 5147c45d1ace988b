"""Every job of a config as Snakemake itself would run it, with what each needs: nothing can drift.

Snakemake plans in a process of its own, which takes no lock, writes nothing, and so works while a run
is going on.

    python -m workflow_scripts.planning.jobs <Snakefile> <config file> <target>...
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.needs import Need
from workflow_scripts.settings.requests import Request

# A table, a figure, a collection of scores: small work of the login node.
_LIGHT = Need(seconds=6, mem_mb=2_000)
_ENOUGH = 1_024  # cores: Snakemake cuts a job's threads to what there is
LIGHT = "tables, figures"
_LIGHT_RULES = re.compile(
    r"(table|figure|collect|merge|score|gather|paper|report|board|leaderboard)(_|$)"
)
_PACK = re.compile(r"_\d+$")
_CHECK = "check_requests"
_TRIGGERS = ("mtime", "params", "input", "software-env")  # as profiles/default says


@dataclass(frozen=True)
class PlannedJob:
    rule: str
    study: str
    need: Need
    asked_minutes: int
    threads: int
    is_done: bool
    log: str | None
    benchmark: str | None
    outputs: tuple[str, ...]
    after: tuple[int, ...]  # the jobs it waits for, by their place in the list
    model: str | None = None  # on the hub; of a checkpoint, the one that it is made from
    retries: int = 0  # of the rule's own; the profile may grant more
    assumed: str | None = None  # the row of a leaderboard whose request nobody has checked yet


def planned_jobs(
    snakefile: Path, config: dict[str, Any], targets: tuple[str, ...] = ("all",)
) -> list[PlannedJob]:
    """In an order in which each job comes behind those that it waits for."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        # In its own order: parameters are compared as they are written.
        yaml.safe_dump(config, file, sort_keys=False)
        file.flush()
        run = subprocess.run(
            [sys.executable, "-m", __name__, str(snakefile), file.name, *targets],
            check=False,
            capture_output=True,
            text=True,
            env=_environment(),
        )
    if run.returncode:
        raise UserError(f"Snakemake cannot plan this config: {run.stderr.strip()}")
    listed = json.loads(run.stdout)
    return [
        PlannedJob(
            **job
            | {
                "need": Need(**job["need"]),
                "outputs": tuple(job["outputs"]),
                "after": tuple(job["after"]),
            }
        )
        for job in listed
    ]


def rule_of(job: PlannedJob) -> str:
    """Packs of one rule count as one, and so do tables and figures."""
    return LIGHT if _LIGHT_RULES.match(job.rule) else _PACK.sub("", job.rule)


def study_of(rule_file: str) -> str:
    """Rule files are named after their study, and what belongs to it: harmony_corpora is harmony's."""
    name = Path(rule_file).stem.split("_")[0]
    if name == "leaderboard":  # the suite's page
        return "suite"
    return "all" if name in ("Snakefile", "paper", "planning") else name


def _environment() -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path}


def _listed(snakefile: Path, config: Path, targets: list[str]) -> list[dict[str, Any]]:
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
        if any(job.rule.name == _CHECK for job in workflow.dag.needrun_jobs()):
            # Which rows there will be is not known yet, and to leave them out would be to plan too little.
            workflow.globals["AS_IF_ACCEPTED"] = True
            _build(workflow)
        return _described(workflow)


def _build(workflow) -> None:
    from snakemake.jobs import Job

    # Another's results may be read-only to us.
    Job.check_protected_output = _unchecked
    workflow._prepare_dag(forceall=False, ignore_incomplete=True, lock_warn_only=False, nolock=True)
    workflow._build_dag()


async def _unchecked(job) -> None:
    """Nothing is written here."""


def _described(workflow) -> list[dict[str, Any]]:
    dag, needs = workflow.dag, workflow.globals["NEEDS"]
    cluster = workflow.globals["SETTINGS"].cluster
    as_if_accepted = workflow.globals["AS_IF_ACCEPTED"]
    place: dict[Any, int] = {}
    described: list[dict[str, Any]] = []
    for level in dag.toposorted():
        for job in sorted(level, key=lambda job: (job.rule.name, list(job.output))):
            place[job] = len(described)
            if not job.output and not job.rule.script:
                need = Need(0, 0)  # a target: it only gathers
            else:
                of = needs.get(job.rule.name)
                need = of(job.wildcards) if of else _LIGHT
            if need.is_guess and as_if_accepted:
                need = Need(0, 0, is_guess=True)  # perhaps refused, and nobody knows how large
            described.append(
                {
                    "rule": job.rule.name,
                    "study": study_of(job.rule.snakefile),
                    "need": asdict(need),
                    "asked_minutes": need.asked_minutes(1, cluster),
                    "threads": int(job.threads),
                    "is_done": not dag.needrun(job),
                    "log": str(job.log[0]) if job.log else None,
                    "benchmark": str(job.benchmark) if job.benchmark else None,
                    "outputs": list(map(str, job.output)),
                    "after": sorted(place[other] for other in dag.dependencies[job]),
                    "model": _model_of(job.wildcards_dict, workflow.globals["SUITE_ROWS"]),
                    "retries": job.rule._restart_times or 0,  # asking in public needs an executor
                    "assumed": job.wildcards_dict.get("row") if as_if_accepted else None,
                }
            )
    return described


def _model_of(wildcards: Mapping[str, str], rows: Mapping[str, Request]) -> str | None:
    if row := wildcards.get("row"):
        return rows[row].checkpoint.model
    if name := wildcards.get("checkpoint") or wildcards.get("model"):
        return CheckpointId.parse(name).model
    return None


if __name__ == "__main__":
    with open(1, "w", closefd=False) as stdout:
        listed = _listed(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
        json.dump(listed, stdout)
