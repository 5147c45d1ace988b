"""Train chunked checkpoints stage by stage, and other models in one training run."""

from workflow_scripts.evaluation.requests import build_stage_perplexity_request
from workflow_scripts.studies.records import list_trainings
from workflow_scripts.studies.training.requests import list_text_names

_PERPLEXITY = "results/records/training/perplexity/{checkpoint}"
_TRAINING_RECORD = "results/training/{checkpoint}.json"


rule tokenise_samples:
    """Tokenize the data of a training recipe for a model, once for all its checkpoints."""
    input:
        model=get_model_manifest,
        data=list_recipe_sources,
    output:
        samples="results/samples/{recipe}/{model}/samples.json",
        data="results/samples/{recipe}/{model}/samples.arrow",
    log:
        "logs/tokenise_samples/{recipe}/{model}.log",
    wildcard_constraints:
        recipe=match_any(SETTINGS.training.recipes),
    conda:
        "../envs/lm_eval.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime="8h",
    params:
        version="tokenise_samples 3",
        request=build_samples_request,
    script:
        "../workflow_scripts/training/data.py"


rule train_checkpoint:
    """Train a checkpoint through one stage; an interrupted job resumes where it stopped."""
    input:
        base=get_base_manifest,
        samples=get_stage_samples,
    output:
        manifest="results/checkpoints/{checkpoint}/manifest.json",
        record=_TRAINING_RECORD,
    log:
        "logs/train_checkpoint/{checkpoint}.log",
    wildcard_constraints:
        checkpoint=match_any(TRAINED),
    retries: get_retries(5)  # a job that was signalled or killed resumes where it stopped
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **plan_resources("train_checkpoint", get_estimate(PLANNER.stage)),
    params:
        version="train_checkpoint 3",
        compute_threads=SETTINGS.compute.threads,
        request=build_stage_request,
    script:
        "../workflow_scripts/steps/train_checkpoint.py"


rule measure_stage_perplexity:
    """Measure perplexity of a checkpoint after its training stages, or of a model before training."""
    input:
        model=get_checkpoint_manifest,
        data=[get_manifest("dataset", name) for name in MEASURED_TEXTS.values()],
    output:
        wikitext=f"{_PERPLEXITY}/wikitext.json",
        wikitext_pieces=f"{_PERPLEXITY}/wikitext.parquet",
        magpie=f"{_PERPLEXITY}/magpie.json",
        magpie_pieces=f"{_PERPLEXITY}/magpie.parquet",
    log:
        "logs/measure_stage_perplexity/{checkpoint}.log",
    wildcard_constraints:
        checkpoint=match_any(COMPARED),
    retries: get_retries(2)
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **plan_resources("measure_stage_perplexity", get_estimate(PLANNER.perplexity)),
    params:
        version="measure_stage_perplexity 3",
        compute_threads=SETTINGS.compute.threads,
        request=build_stage_perplexity_request(SETTINGS).to_params(),
    script:
        "../workflow_scripts/evaluation/measure_perplexity.py"


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
            "texts": list_text_names(SETTINGS),
        },
    script:
        "../workflow_scripts/studies/training/stages.py"


rule training:
    """Study: train chunked checkpoints stage by stage, and other models in one training run."""
    input:
        RECORDS.get("training", []),
        rules.training_stages.output if "training" in RECORDS else [],
