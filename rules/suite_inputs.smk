"""Read the leaderboard requests, and build the inputs of the rules in suite.smk."""

import json

from workflow_scripts.bridge.job_list import CHECKS, is_listing
from workflow_scripts.miniature import catalogue
from workflow_scripts.studies.suite.submissions import accept_unchecked, check_requests
from workflow_scripts.studies.suite.tasks import list_tasks


def get_suite_source(model, revision):
    """Return the file that checks a request: a model's manifest, or metadata fetched for the check."""
    if SETTINGS.source == "miniature" or model in SETTINGS.folders:
        return get_manifest("model", model)
    return f"{HUB}/submitted/{model}@{revision or 'default'}/metadata.json"


SUITE_CHECKS = check_requests(
    SETTINGS,
    generated=catalogue.MODELS,
    source=get_suite_source,
    manifest=locate_checkpoint,
)
SUITE_SOURCES = [
    file for entry in SUITE_CHECKS["submissions"].values() for file in entry["sources"]
]
SUITE_TASKS = list_tasks(SETTINGS)


def list_accepted_requests():
    """Return the accepted requests, after the checkpoint rule has run."""
    if is_listing() and not CHECKS.exists():
        return accept_unchecked(SUITE_CHECKS)
    checks = Path(checkpoints.check_requests.get().output.checks)
    entries = json.loads(checks.read_text(encoding="utf-8"))
    return [entry for entry in entries if not entry["reason"]]


def list_suite_records(wildcards):
    """Return the records of the rows with accepted requests."""
    return [path for entry in list_accepted_requests() for path in entry["records"].values()]


def get_suite_commit(wildcards, key):
    (commit,) = {entry[key] for entry in list_accepted_requests() if entry["row"] == wildcards.row}
    return commit


def get_suite_model(wildcards):
    """Return the manifest of a model at the commit that was checked, even if its branch has moved."""
    request = SETTINGS.suite_rows[wildcards.row]
    if SETTINGS.source == "miniature" or request.is_local or request.checkpoint.variant:
        return locate_checkpoint(request.checkpoint)
    return get_manifest("model", f"{request.name}@{get_suite_commit(wildcards, 'commit')}")


def get_suite_base(wildcards):
    """Return the base of a delta, at the commit that was checked."""
    base = SETTINGS.suite_rows[wildcards.row].base
    if base is None or SETTINGS.source == "miniature":
        return base
    return f"{base}@{get_suite_commit(wildcards, 'base_commit')}"


def get_suite_base_manifest(wildcards):
    base = get_suite_base(wildcards)
    return [get_manifest("model", base)] if base else []
