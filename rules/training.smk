"""Train chunked checkpoints stage by stage, and other models in one training run."""

from workflow_scripts.studies.records import list_trainings
from workflow_scripts.training.requests import build_samples_request, build_stage_request


rule tokenise_samples:
    """Tokenize the data of a training recipe for a model, once for all its checkpoints."""
    input:
        model=INPUTS.get_base_manifest,
        data=INPUTS.list_recipe_sources,
    output:
        samples="results/samples/{recipe}/{model}/samples.json",
        data="results/samples/{recipe}/{model}/samples.arrow",
    log:
        "logs/tokenise_samples/{recipe}/{model}.log",
    conda:
        "../envs/lm_eval.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 800 * attempt,
        runtime="8h",
    params:
        version="tokenise_samples 3",
        request=lambda wildcards: build_samples_request(SETTINGS, wildcards.recipe).to_params(),
    script:
        "../workflow_scripts/training/tokenise_samples.py"


rule train_checkpoint:
    """Train a checkpoint through one stage; an interrupted job resumes where it stopped."""
    input:
        base=INPUTS.get_stage_base,
        samples=INPUTS.get_stage_samples,
    output:
        manifest="results/checkpoints/{checkpoint}/manifest.json",
        record="results/training/{checkpoint}.json",
    log:
        "logs/train_checkpoint/{checkpoint}.log",
    wildcard_constraints:
        checkpoint=match_any(INPUTS.trained),
    retries: RETRIES
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **estimate_resources("train_checkpoint", ESTIMATOR.estimate_stage),
    params:
        version="train_checkpoint 3",
        compute_threads=SETTINGS.compute.threads,
        request=lambda wildcards: build_stage_request(SETTINGS, wildcards.checkpoint).to_params(),
    script:
        "../workflow_scripts/steps/train_checkpoint.py"


rule training_stages:
    """Tabulate the perplexity after each training stage, and plot the training losses."""
    input:
        scores="results/scores/training.parquet",
        records=list_trainings(SETTINGS.list_compared_checkpoints()),
    output:
        table=multiext("results/tables/training_stages", ".csv", ".md", ".tex"),
        figure=get_figure_files("training_curves", "Training"),
    log:
        "logs/training_stages.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments={
            "checkpoints": [str(id) for id in SETTINGS.list_compared_checkpoints()],
            "texts": TEXTS,
        },
    script:
        "../workflow_scripts/studies/training/stages.py"


rule training:
    """Study: train chunked checkpoints stage by stage, and other models in one training run."""
    input:
        RECORDS.get("training", []),
        rules.training_stages.output if "training" in RECORDS else [],
