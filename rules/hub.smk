"""Fill the hub folder: generated data, downloads by the only rules that use the network, local and served models."""

import sys

from workflow_scripts.core.ids import LOCAL
from workflow_scripts.hub.lock import find_lock_conflicts
from workflow_scripts.settings.import_folders import hash_imported_files

if SETTINGS.source == "miniature":

    include: "miniature.smk"

else:
    # Only the main process checks, because jobs parse this file again while a run may be repairing the folder.
    if is_main_process(workflow):
        if LOCK_PROBLEMS := list(find_lock_conflicts(LOCK_FILE, Path(HUB))):
            sys.exit("\n".join(["Hub folder does not match hub.lock.tsv:", *LOCK_PROBLEMS]))

    rule fetch:
        """Download a model or a dataset from the Hugging Face hub at its locked commit, or at one that a request names."""
        output:
            manifest=f"{HUB}/{{kind}}s/{{org}}/{{name}}/manifest.json",
        log:
            "logs/fetch/{kind}s/{org}--{name}.log",
        wildcard_constraints:
            kind="model|dataset",
            org=r"(?!local/)[^/]+",  # models of local/ are folders on this machine
            name=r"[^/@]+(@[0-9a-f]{40})?",
        retries: 2
        localrule: True  # compute nodes often have no internet access
        conda:
            "../envs/hub.yaml"
        resources:
            **estimate_resources("fetch", ESTIMATOR.estimate_download, gpu=False),
        params:
            version=1,  # raise when the list of downloaded files or the manifest changes
            kind="{kind}",
            repository=lambda wildcards: f"{wildcards.org}/{wildcards.name.partition('@')[0]}",
            revision=INPUTS.get_revision,
            # The file name, so that locking the commit in use reruns nothing. The lock is for the studies' models; a
            # leaderboard may have one model at several commits.
            lock=lambda wildcards: None if "@" in wildcards.name else SETTINGS.hub.lock,
        script:
            "../workflow_scripts/hub/fetch.py"

    rule fetch_metadata:
        """Download the files that check a leaderboard request: the model's repository without its weights."""
        output:
            metadata=f"{HUB}/submitted/{{org}}/{{name}}@{{commit}}/metadata.json",
        log:
            "logs/fetch_metadata/{org}--{name}@{commit}.log",
        wildcard_constraints:
            name=r"[^/@]+",
            commit=r"[0-9a-f]{40}|default",
        retries: 2
        localrule: True
        conda:
            "../envs/hub.yaml"
        params:
            version=1,
            repository="{org}/{name}",
            revision=INPUTS.get_revision,
            lock=SETTINGS.hub.lock,
        script:
            "../workflow_scripts/hub/metadata.py"


rule import_local_model:
    """Import a model from a folder on this machine; a digest of its files replaces the commit."""
    output:
        manifest=f"{HUB}/models/{LOCAL}/{{name}}/manifest.json",
    log:
        "logs/import_local_model/{name}.log",
    wildcard_constraints:
        name=match_any(name.split("/")[1] for name in SETTINGS.folders),
    localrule: True
    conda:
        "../envs/hub.yaml"
    params:
        version=1,
        folder=lambda wildcards: SETTINGS.folders[f"{LOCAL}/{wildcards.name}"],
        # Changed files are imported again, also those that were copied with an older modification time.
        modified=lambda wildcards: hash_imported_files(
            SETTINGS.folders[f"{LOCAL}/{wildcards.name}"]
        ),
    script:
        "../workflow_scripts/hub/local_folders.py"


rule describe_served_model:
    """Write the manifest of a model behind an API server: its endpoint and its tokenizer."""
    input:
        source=lambda wildcards: INPUTS.get_metadata(f"{wildcards.org}/{wildcards.name}"),
    output:
        manifest=f"{HUB}/served/{{org}}/{{name}}/manifest.json",
    log:
        "logs/describe_served_model/{org}--{name}.log",
    localrule: True
    conda:
        EVALUATION_ENVIRONMENT
    params:
        version="describe_served_model 1",
        served=lambda wildcards: SETTINGS.served[f"{wildcards.org}/{wildcards.name}"].model_dump(),
    script:
        "../workflow_scripts/hub/served.py"


# The rule has no output, so it always runs when requested, and Snakemake never deletes or updates the lock file,
# which is in git and read while the rules are parsed.
rule lock_hub:
    """Download every model and dataset of the config, and write their commits into the lock file."""
    input:
        manifests=INPUTS.list_hub_manifests,
    log:
        "logs/lock_hub.log",
    localrule: True
    conda:
        "../envs/hub.yaml"
    params:
        lock=str(LOCK_FILE),
    script:
        "../workflow_scripts/hub/lock.py"
