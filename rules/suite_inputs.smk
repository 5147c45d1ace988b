"""The requests of the leaderboard, and the inputs of its rules."""

import json

from workflow_scripts.bridge.job_list import CHECKS, is_listing
from workflow_scripts.miniature import catalogue
from workflow_scripts.settings.leaderboard_submissions import Request
from workflow_scripts.studies.suite.submissions import as_if_accepted, check_requests
from workflow_scripts.studies.suite.table_requests import suite_tables


def suite_source(model, revision):
    """What a request is checked by: the hub folder's model, or what was fetched to check it."""
    if SETTINGS.source == "miniature" or model in SETTINGS.folders:
        return manifest_of("model", model)
    return f"{HUB}/submitted/{model}@{revision or 'default'}/metadata.json"


SUITE_CHECKS = check_requests(
    SETTINGS,
    generated={*catalogue.MODELS, *catalogue.FAULTY},
    source=suite_source,
    manifest=manifest_of_checkpoint,
)
SUITE_SOURCES = [file for one in SUITE_CHECKS["submissions"].values() for file in one["sources"]]
# By the name of a row in paths; of two requests for one row the second will be refused.
SUITE_ROWS = {
    one["row"]: Request.model_validate(one["request"])
    for one in SUITE_CHECKS["submissions"].values()
}


def suite_checked():
    """The accepted requests, once they are checked."""
    if is_listing() and not CHECKS.exists():
        return as_if_accepted(SUITE_CHECKS)
    checks = Path(checkpoints.check_requests.get().output.checks)
    entries = json.loads(checks.read_text(encoding="utf-8"))
    return [entry for entry in entries if not entry["reason"]]


def suite_records(wildcards):
    """The records of the rows whose requests were accepted."""
    return [path for one in suite_checked() for path in one["records"].values()]


def suite_commit(wildcards, key):
    (commit,) = {one[key] for one in suite_checked() if one["row"] == wildcards.row}
    return commit


def suite_model(wildcards):
    """A model of the hub at the commit that was checked, whatever its branch is at by now."""
    request = SUITE_ROWS[wildcards.row]
    if SETTINGS.source == "miniature" or request.is_local or request.checkpoint.variant:
        return manifest_of_checkpoint(request.checkpoint)
    return manifest_of("model", f"{request.name}@{suite_commit(wildcards, 'commit')}")


def suite_base(wildcards):
    """Of a delta, the model that it is added to, at the commit that was checked, in the hub folder."""
    base = SUITE_ROWS[wildcards.row].base
    if base is None or SETTINGS.source == "miniature":
        return base
    return f"{base}@{suite_commit(wildcards, 'base_commit')}"


def suite_base_manifest(wildcards):
    base = suite_base(wildcards)
    return [manifest_of("model", base)] if base else []
