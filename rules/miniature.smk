"""The generated world: everything that the hub would give, made on this machine."""

from workflow_scripts.miniature import catalogue
from workflow_scripts.settings.miniature import (
    FaultyModelsRequest,
    MiniatureModelRequest,
    WorldRequest,
)


rule build_world:
    """Generate the miniature world: facts, texts, datasets, tokenizer."""
    output:
        datasets=[manifest_of("dataset", name) for name in catalogue.DATASETS],
        corpus=f"{HUB}/{catalogue.CORPUS}",
        tokenizer=f"{HUB}/{catalogue.TOKENIZER}",
        texts=f"{HUB}/{catalogue.TEXTS}",
    log:
        "logs/build_world.log",
    benchmark:
        "benchmarks/build_world.tsv"
    conda:
        "../envs/miniature.yaml"
    threads: 1
    resources:
        **planned("build_world", lambda wildcards: PLANNER.world(), gpu=False),
    params:
        version="build_world 1",  # raise it when the world changes
        request=WorldRequest(seed=SETTINGS.seed, items=SETTINGS.miniature.items).as_params(),
    script:
        "../workflow_scripts/steps/miniature.py"


rule train_miniature_model:
    """Train a small model of the miniature world."""
    input:
        texts=rules.build_world.output.texts,
        base=lambda wildcards: [
            manifest_of("model", f"miniature/{base}")
            for name, base in catalogue.BASE_OF.items()
            if name == wildcards.name
        ],
    output:
        manifest=f"{HUB}/models/miniature/{{name}}/manifest.json",
    log:
        "logs/train_miniature_model/{name}.log",
    benchmark:
        "benchmarks/train_miniature_model/{name}.tsv"
    priority: lambda wildcards: catalogue.training_priority(wildcards.name)
    conda:
        "../envs/miniature.yaml"
    threads: 1
    resources:
        **planned("train_miniature_model", planned_of("miniature_model", "name"), gpu=False),
    params:
        version="train_miniature_model 1",
        compute_threads=1,
        request=lambda wildcards: MiniatureModelRequest(
            name=wildcards.name, seed=SETTINGS.seed, effort=SETTINGS.miniature.effort
        ).as_params(),
    script:
        "../workflow_scripts/steps/miniature.py"


# The names of its models would fit the rule above as well.
ruleorder: build_faulty_models > train_miniature_model


rule build_faulty_models:
    """Models of the miniature world with one fault each, for requests that must be refused."""
    input:
        texts=rules.build_world.output.texts,
    output:
        manifests=[manifest_of("model", f"miniature/{name}") for name in catalogue.FAULTY],
    log:
        "logs/build_faulty_models.log",
    conda:
        "../envs/miniature.yaml"
    threads: 1
    resources:
        mem_mb=3000,
        runtime="30m",
    params:
        version="build_faulty_models 1",
        request=FaultyModelsRequest(seed=SETTINGS.seed).as_params(),
    script:
        "../workflow_scripts/steps/miniature.py"
