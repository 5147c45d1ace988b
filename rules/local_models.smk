"""Models that are folders on this machine, taken into the hub folder like those of the hub."""

from workflow_scripts.core.ids import LOCAL
from workflow_scripts.settings.folders import list_file_stats


rule take_local_model:
    """Take a model that is a folder on this machine, at the digest of its files."""
    input:
        files=lambda wildcards: list(list_file_stats(SETTINGS.folders[f"{LOCAL}/{wildcards.name}"])),
    output:
        manifest=f"{HUB}/models/{LOCAL}/{{name}}/manifest.json",
    log:
        "logs/take_local_model/{name}.log",
    wildcard_constraints:
        name=match_any(name.split("/")[1] for name in SETTINGS.folders),
    localrule: True
    conda:
        "../envs/hub.yaml"
    params:
        version=1,
        arguments=lambda wildcards: {
            "repository": f"{LOCAL}/{wildcards.name}",
            "folder": SETTINGS.folders[f"{LOCAL}/{wildcards.name}"],
        },
        # A copy may keep the time of an older original, so that Snakemake alone would not see the change.
        list_file_stats=lambda wildcards: list_file_stats(
            SETTINGS.folders[f"{LOCAL}/{wildcards.name}"]
        ),
    script:
        "../workflow_scripts/hub/local_folders.py"
