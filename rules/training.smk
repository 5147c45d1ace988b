"""Training: continued pre-training and fine-tuning of chunked checkpoints, stage by stage."""

from workflow_scripts.settings.measures import stage_perplexity_request

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
    benchmark:
        "benchmarks/tokenise_samples/{recipe}/{model}.tsv"
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
    """Train chunked checkpoints, stage by stage; resumes where it stopped when killed."""
    input:
        base=checkpoints_in_a_job(TRAINED.values(), stages_before),
        samples=checkpoints_in_a_job(TRAINED.values(), samples_of_stages),
    output:
        manifest=each("results/checkpoints/{checkpoint}/manifest.json", TRAINED.values()),
        record=each(_TRAINING_RECORD, TRAINED.values()),
    log:
        beside_each("logs/train_checkpoint/{checkpoint}.log"),
    benchmark:
        beside_each("benchmarks/train_checkpoint/{checkpoint}.tsv")
    wildcard_constraints:
        checkpoint=one_of(TRAINED),
    retries: retries(5)  # a job that was asked to leave, or killed, resumes where it stopped
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("train_checkpoint", stage_need),
    params:
        version="train_checkpoint 1",
        compute_threads=SETTINGS.compute.threads,
        stages=checkpoints_in_a_job(TRAINED.values(), stages),
    script:
        "../workflow_scripts/steps/train_checkpoint.py"


rule measure_stage_perplexity:
    """Perplexity of checkpoints after their stages of training."""
    input:
        model=checkpoints_in_a_job(STAGED.values(), manifests_of_checkpoints),
        data=[manifest_of("dataset", name) for name in MEASURED_TEXTS.values()],
    output:
        wikitext=each(f"{_PERPLEXITY}/wikitext.json", STAGED.values()),
        wikitext_pieces=each(f"{_PERPLEXITY}/wikitext.parquet", STAGED.values()),
        magpie=each(f"{_PERPLEXITY}/magpie.json", STAGED.values()),
        magpie_pieces=each(f"{_PERPLEXITY}/magpie.parquet", STAGED.values()),
    log:
        beside_each("logs/measure_stage_perplexity/{checkpoint}.log"),
    benchmark:
        beside_each("benchmarks/measure_stage_perplexity/{checkpoint}.tsv")
    wildcard_constraints:
        checkpoint=one_of(STAGED),
    priority: longest_first("measure_stage_perplexity")
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("measure_stage_perplexity", stage_perplexity_need),
    params:
        version="measure_stage_perplexity 3",
        compute_threads=SETTINGS.compute.threads,
        function="evaluation.plans.measure_perplexity",
        reader="core.records.whole_record",
        request=stage_perplexity_request(SETTINGS).as_params(),
    script:
        "../workflow_scripts/steps/measure.py"


rule training:
    """Study: continued pre-training and fine-tuning of chunked checkpoints, stage by stage."""
    input:
        made_of("training"),
