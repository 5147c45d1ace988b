"""Training: continued pre-training and fine-tuning of chunked checkpoints, stage by stage."""

from workflow_scripts.evaluation.requests import stage_perplexity_request

_PERPLEXITY = "results/records/training/perplexity/{checkpoint}"
_TRAINING_RECORD = "results/training/{checkpoint}.json"


rule tokenise_samples:
    """Tokenise what a training recipe reads, once for all its checkpoints."""
    input:
        model=model_manifest,
        data=recipe_sources,
    output:
        samples="results/samples/{recipe}/{model}/samples.json",
        tokens="results/samples/{recipe}/{model}/tokens.bin",
        counted="results/samples/{recipe}/{model}/counted.bin",
        ends="results/samples/{recipe}/{model}/ends.bin",
    log:
        "logs/tokenise_samples/{recipe}/{model}.log",
    wildcard_constraints:
        recipe=one_of(SETTINGS.training.recipes),
    conda:
        "../envs/lm_eval.yaml"
    threads: 1
    resources:
        **planned("tokenise_samples", planned_of("samples", "recipe"), gpu=False),
    params:
        version="tokenise_samples 2",
        request=samples_request,
    script:
        "../workflow_scripts/steps/tokenise_samples.py"


rule train_checkpoint:
    """Train a checkpoint through one stage; resumes where it stopped when killed."""
    input:
        base=stage_before,
        samples=samples_of_stage,
        shorter=shorter_recovery,
    output:
        manifest="results/checkpoints/{checkpoint}/manifest.json",
        record=_TRAINING_RECORD,
    log:
        "logs/train_checkpoint/{checkpoint}.log",
    wildcard_constraints:
        checkpoint=one_of(TRAINED),
    retries: retries(5)  # a job that was asked to leave, or killed, resumes where it stopped
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("train_checkpoint", planned_of("stage"), over_nodes=True),
    params:
        version="train_checkpoint 1",
        compute_threads=SETTINGS.compute.threads,
        request=stage_request,
    script:
        "../workflow_scripts/steps/train_checkpoint.py"


rule measure_stage_perplexity:
    """Perplexity of a checkpoint after its stages of training."""
    input:
        model=checkpoint_manifest,
        data=[manifest_of("dataset", name) for name in MEASURED_TEXTS.values()],
    output:
        wikitext=f"{_PERPLEXITY}/wikitext.json",
        wikitext_pieces=f"{_PERPLEXITY}/wikitext.parquet",
        magpie=f"{_PERPLEXITY}/magpie.json",
        magpie_pieces=f"{_PERPLEXITY}/magpie.parquet",
    log:
        "logs/measure_stage_perplexity/{checkpoint}.log",
    wildcard_constraints:
        checkpoint=one_of(STAGED | RECOVERED),
    priority: longest_first("measure_stage_perplexity")
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("measure_stage_perplexity", planned_of("perplexity")),
    params:
        version="measure_stage_perplexity 3",
        compute_threads=SETTINGS.compute.threads,
        measurement="evaluation.plans",
        request=stage_perplexity_request(SETTINGS).as_params(),
    script:
        "../workflow_scripts/steps/measure.py"


rule recovery:
    """Study: what chunks and dropped layers cost at equal speed, and what training on few tokens brings back."""
    input:
        made_of("recovery"),


rule training:
    """Study: continued pre-training and fine-tuning of chunked checkpoints, stage by stage."""
    input:
        made_of("training"),
