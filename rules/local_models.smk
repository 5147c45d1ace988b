"""Models that are folders on this machine, taken into the hub folder like those of the hub."""

from workflow_scripts.core.ids import LOCAL
from workflow_scripts.settings.folders import files_of_folder, stamps


def local_folder(wildcards):
    return SETTINGS.folders[f"{LOCAL}/{wildcards.name}"]


def local_files(wildcards):
    folder = Path(local_folder(wildcards))
    return [str(folder / file) for file in files_of_folder(folder)]


rule take_local_model:
    """Take a model that is a folder on this machine, at the digest of its files."""
    input:
        files=local_files,
    output:
        manifest=f"{HUB}/models/{LOCAL}/{{name}}/manifest.json",
    log:
        "logs/take_local_model/{name}.log",
    wildcard_constraints:
        name=one_of(name.split("/")[1] for name in SETTINGS.folders),
    localrule: True
    conda:
        "../envs/hub.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="2h",
    params:
        version=1,
        folder=local_folder,
        # A copy may keep the time of an older original, so that Snakemake alone would not see the change.
        stamps=lambda wildcards: stamps(local_folder(wildcards)),
    script:
        "../workflow_scripts/steps/take_local_model.py"
