"""Models that a server runs, of which only the tokenizer and the configuration are fetched."""

from workflow_scripts.settings.served import ServedRequest


rule describe_served_model:
    """Write down where a server runs a model, beside the model's tokenizer."""
    input:
        source=served_source,
    output:
        manifest=f"{HUB}/served/{{org}}/{{name}}/manifest.json",
    log:
        "logs/describe_served_model/{org}--{name}.log",
    localrule: True
    conda:
        EVALUATION_ENVIRONMENT
    params:
        version="describe_served_model 1",
        request=lambda wildcards: ServedRequest(
            model=f"{wildcards.org}/{wildcards.name}",
            served=SETTINGS.served[f"{wildcards.org}/{wildcards.name}"],
        ).to_params(),
    script:
        "../workflow_scripts/hub/served.py"
