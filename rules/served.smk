"""Register models that an API server runs; only their tokenizer and config are downloaded."""


rule describe_served_model:
    """Write the manifest of a model behind an API server: its endpoint and its tokenizer."""
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
