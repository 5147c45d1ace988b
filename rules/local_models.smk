"""Import models from folders on this machine into the hub folder."""

from workflow_scripts.core.ids import LOCAL
from workflow_scripts.settings.folders import list_modification_times


rule take_local_model:
    """Import a model from a folder on this machine; a digest of its files replaces the commit."""
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
        # Changed files are imported again, also those that were copied with an older modification time.
        modified=lambda wildcards: list_modification_times(
            SETTINGS.folders[f"{LOCAL}/{wildcards.name}"]
        ),
    script:
        "../workflow_scripts/hub/local_folders.py"
