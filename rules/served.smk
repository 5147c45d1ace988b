"""Models that a server answers for: what it says of itself, and whether its numbers are right."""

from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.served import TakenRequest


rule take_served_model:
    """Ask a server what it serves, and hold its log-likelihoods against the model's own weights."""
    input:
        source=served_source,
        data=served_data,
    output:
        manifest=f"{HUB}/served/{{org}}/{{name}}/manifest.json",
    log:
        "logs/take_served_model/{org}--{name}.log",
    wildcard_constraints:
        org=one_of(sorted({name.split("/")[0] for name in SETTINGS.served})),
        name=one_of(sorted({name.split("/")[1] for name in SETTINGS.served})),
    retries: retries(2)
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned(
            "take_served_model", lambda wildcards: PLANNER.taking_served(served_name(wildcards))
        ),
    params:
        version="take_served_model 1",
        compute_threads=SETTINGS.compute.threads,
        endpoint=lambda wildcards: SETTINGS.served[served_name(wildcards)].endpoint,
        function="evaluation.served_check.take_served_model",
        request=lambda wildcards: TakenRequest(
            model=served_name(wildcards),
            served=SETTINGS.served[served_name(wildcards)],
            compute=Loading.part_of(SETTINGS.compute),
        ).as_params(),
    script:
        "../workflow_scripts/steps/files.py"
