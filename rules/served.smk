"""Models that a server runs, of which only the tokenizer and the configuration are fetched."""


rule describe_served_model:
    """Write down where a server runs a model, beside the model's tokenizer."""
    input:
        source=get_served_source,
    output:
        manifest=f"{HUB}/served/{{org}}/{{name}}/manifest.json",
    log:
        "logs/describe_served_model/{org}--{name}.log",
    localrule: True
    conda:
        EVALUATION_ENVIRONMENT
    params:
        version="describe_served_model 1",
        arguments=lambda wildcards: {
            "model": f"{wildcards.org}/{wildcards.name}",
            "served": SETTINGS.served[f"{wildcards.org}/{wildcards.name}"].model_dump(),
        },
    script:
        "../workflow_scripts/hub/served.py"
