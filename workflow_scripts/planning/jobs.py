"""Every job of a config as Snakemake itself would run it, with what each needs: nothing can drift."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job_list import list_jobs
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.needs import Need
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.packs import base_of

# A table, a figure, a collection of scores: small work of the login node.
_LIGHT = Need(seconds=6, mem_mb=2_000)
LIGHT = "tables, figures"
_LIGHT_RULES = re.compile(r"(table|figure|page|collect|merge|score|gather|paper|board)(_|$)")


@dataclass(frozen=True)
class PlannedJob:
    rule: str
    study: str
    need: Need
    asked_minutes: int
    threads: int
    is_done: bool
    log: str | None
    outputs: tuple[str, ...]
    after: tuple[int, ...]  # the jobs it waits for, by their place in the list
    model: str | None = None  # on the hub; of a checkpoint, the one that it is made from
    retries: int = 0  # of the rule's own; the profile may grant more
    assumed: str | None = None  # the row of a leaderboard whose request nobody has checked yet


def planned_jobs(
    snakefile: Path, config: dict[str, Any], targets: tuple[str, ...] = ("all",)
) -> list[PlannedJob]:
    """The jobs of a config in an order in which each comes behind those that it waits for."""
    listed = list_jobs(snakefile, config, targets)
    cluster = Cluster.model_validate(config.get("cluster", {}))
    return [_planned(job, cluster, listed["as_if_accepted"]) for job in listed["jobs"]]


def _planned(job: dict[str, Any], cluster: Cluster, as_if_accepted: bool) -> PlannedJob:
    wildcards = job.pop("wildcards")
    study = study_of(job["rule"], wildcards)
    need = _need(job.pop("need"), job.pop("works"), as_if_accepted)
    return PlannedJob(
        rule=job["rule"],
        threads=job["threads"],
        is_done=job["is_done"],
        log=None,
        outputs=(),
        after=(),
        study=study,
        need=need,
        asked_minutes=need.asked_minutes(1, cluster),
        model=_model_of(wildcards),
        assumed=wildcards.get("row") if as_if_accepted else None,
    )


def _need(fields: dict[str, Any] | None, works: bool, as_if_accepted: bool) -> Need:
    if not works:
        return Need(0, 0)
    if fields is None:
        return _LIGHT
    if fields["is_guess"] and as_if_accepted:
        return Need(0, 0, is_guess=True)  # perhaps refused, and nobody knows how large
    return Need(**fields)


def _model_of(wildcards: Mapping[str, str]) -> str | None:
    # A row of the leaderboard is a checkpoint, and behind it the number format.
    row = wildcards.get("row", "").split("~")[0]
    name = row or wildcards.get("checkpoint") or wildcards.get("model")
    return CheckpointId.parse(name).model if name else None


def rule_of(job: PlannedJob) -> str:
    return kind_of(job.rule)


def kind_of(rule: str) -> str:
    """The rule's name, by which packs of one rule count as one, and so do tables and figures."""
    return LIGHT if _LIGHT_RULES.match(rule) else base_of(rule)


def study_of(rule_file: str, wildcards: Mapping[str, str], declares: str | None = None) -> str:
    """Rule files are named after their study, and what belongs to it: harmony_corpora is harmony's.

    Products share a rule file: whose they are, the study says that declares them.
    """
    name = declares or Path(rule_file).stem.split("_")[0]
    if name == "cells":  # of rows of the leaderboard, or of the grid
        return "suite" if "row" in wildcards else "harmony"
    return "all" if name in ("Snakefile", "products", "paper", "planning") else name
