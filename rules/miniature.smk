"""The generated world: everything that the hub would give, made on this machine or shipped."""

from workflow_scripts.core.files import hash_file
from workflow_scripts.miniature import catalogue

_FOLDER = "retrained"
_RETRAINED = f"{_FOLDER}/{{name}}/{catalogue.MADE}"


rule build_world:
    """Generate the datasets of the miniature world."""
    output:
        datasets=[get_manifest("dataset", name) for name in catalogue.DATASETS],
    log:
        "logs/build_world.log",
    conda:
        "../envs/miniature.yaml"
    threads: 1
    resources:
        mem_mb=3000,
        runtime="30m",
    params:
        version="build_world 2",  # raise it when the world changes
        arguments={"hub": Path(HUB), "items": SETTINGS.miniature.items},
    script:
        "../workflow_scripts/miniature/build.py"


rule place_miniature_model:
    """Put a trained model of the miniature world, which the repository ships, into the hub folder."""
    output:
        manifest=f"{HUB}/models/{catalogue.ORGANISATION}/{{name}}/manifest.json",
    log:
        "logs/place_miniature_model/{name}.log",
    wildcard_constraints:
        name=match_any(catalogue.MODELS),
    conda:
        "../envs/miniature.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime="30m",
    params:
        version="place_miniature_model 1",
        arguments={"hub": Path(HUB)},
        # It has the digests of all that is placed. As inputs the files would be compared by time, and by
        # where the repository lies.
        made=lambda wildcards: hash_file(catalogue.SHIPPED / wildcards.name / catalogue.MADE),
    script:
        "../workflow_scripts/miniature/shipped.py"


rule build_faulty_models:
    """Models of the miniature world with one fault each, for requests that must be refused."""
    output:
        manifests=[get_manifest("model", f"miniature/{name}") for name in catalogue.FAULTY],
    log:
        "logs/build_faulty_models.log",
    conda:
        "../envs/miniature.yaml"
    threads: 1
    resources:
        mem_mb=3000,
        runtime="30m",
    params:
        version="build_faulty_models 2",
        arguments={"hub": Path(HUB)},
        tokenizer=hash_file(catalogue.SHIPPED / catalogue.TOKENIZER),
    script:
        "../workflow_scripts/miniature/faulty.py"


rule build_corpus:
    """Write what the miniature models are trained on, from the training splits, and their tokenizer."""
    input:
        datasets=rules.build_world.output.datasets,
    output:
        corpus=f"{_FOLDER}/{catalogue.CORPUS}",
        conversations=f"{_FOLDER}/{catalogue.CONVERSATIONS}",
        tokenizer=f"{_FOLDER}/{catalogue.TOKENIZER}",
    log:
        "logs/build_corpus.log",
    conda:
        "../envs/miniature.yaml"
    threads: 1
    resources:
        mem_mb=3000,
        runtime="30m",
    params:
        version="build_corpus 2",
        arguments={"hub": Path(HUB), "folder": Path(_FOLDER)},
        request={},
    script:
        "../workflow_scripts/miniature/build_corpus.py"


rule train_miniature_model:
    """Train a model of the miniature world from nothing, or an instruct model from its base."""
    input:
        texts=rules.build_corpus.output,
        base=lambda wildcards: [
            _RETRAINED.format(name=base)
            for name, base in catalogue.BASE_OF.items()
            if name == wildcards.name
        ],
    output:
        made=_RETRAINED,
    log:
        "logs/train_miniature_model/{name}.log",
    wildcard_constraints:
        name=match_any(catalogue.MODELS),
    priority: lambda wildcards: len(catalogue.MODELS) - catalogue.MODELS.index(wildcards.name)
    conda:
        "../envs/miniature.yaml"
    threads: 1
    resources:
        mem_mb=3000,
        runtime="8h",
    params:
        version="train_miniature_model 3",
        arguments={"folder": Path(_FOLDER)},
        compute_threads=1,
    script:
        "../workflow_scripts/miniature/train.py"


# Nothing of a run depends on it: what is shipped changes only when somebody has compared and copied.
rule retrain_miniature:
    """Train the shipped models again, about an hour of one core; to ship them, compare retrained/* with resources/miniature and copy all but the texts there."""
    input:
        expand(_RETRAINED, name=catalogue.MODELS),
    localrule: True
