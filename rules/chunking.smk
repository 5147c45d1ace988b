"""Build and verify chunked models, and measure them in many chunk plans before any training."""

from functools import partial

from workflow_scripts.evaluation.requests import build_latency_request, build_perplexity_request
from workflow_scripts.evaluation.requests import build_verify_request, build_written_request
from workflow_scripts.settings.plan_measures import MEASURED_TEXTS
from workflow_scripts.settings.prompts.spec import DATASETS as QUESTION_DATASETS

# The texts on which perplexity is measured, Magpie with one text per difficulty.
MAGPIE_TEXTS = [f"magpie ({difficulty})" for difficulty in SETTINGS.chunking.measures.difficulties]
TEXTS = sorted([*MAGPIE_TEXTS, "wikitext"])


rule build_chunked:
    """Build a checkpoint with layers in parallel chunks; its weights are links to the base model's files."""
    input:
        model=INPUTS.get_base_manifest,
    output:
        manifest="results/checkpoints/{checkpoint}/manifest.json",
    log:
        "logs/build_chunked/{checkpoint}.log",
    wildcard_constraints:
        checkpoint=match_any(INPUTS.chunked),
    conda:
        "../envs/lm_eval.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 800 * attempt,
        runtime="2h",
    params:
        version="build_chunked 3",
        arguments=lambda wildcards: {
            "entry": INPUTS.chunked[wildcards.checkpoint].model_dump(mode="json"),
            "seed": SETTINGS.seed,
        },
    script:
        "../workflow_scripts/hub/build_chunked.py"


rule verify_chunked:
    """Verify a chunked checkpoint's logits against a plain layer loop and its base model, and record its plan."""
    input:
        checkpoint=rules.build_chunked.output.manifest,
        model=INPUTS.get_base_manifest,
    output:
        report="results/verified/{checkpoint}.json",
    log:
        "logs/verify_chunked/{checkpoint}.log",
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **estimate_resources("verify_chunked", partial(ESTIMATOR.estimate_perplexity, plans=1)),
    params:
        version="verify_chunked 1",
        compute_threads=SETTINGS.compute.threads,
        request=build_verify_request(SETTINGS).to_params(),
    script:
        "../workflow_scripts/evaluation/verify_chunked.py"


rule measure_perplexity:
    """Measure a model's perplexity on wikitext and Magpie in many chunk plans, before training."""
    input:
        model=INPUTS.get_base_manifest,
        data=INPUTS.list_datasets(MEASURED_TEXTS.values()),
    output:
        get_record_files("chunking/perplexity/{model}/wikitext", "wikitext"),
        get_record_files("chunking/perplexity/{model}/magpie", "magpie"),
    log:
        "logs/measure_perplexity/{model}.log",
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **estimate_resources("measure_perplexity", ESTIMATOR.estimate_untrained_perplexity),
    params:
        version="measure_perplexity 4",
        compute_threads=SETTINGS.compute.threads,
        request=lambda wildcards: build_perplexity_request(SETTINGS, wildcards.model).to_params(),
    script:
        "../workflow_scripts/evaluation/measure_perplexity.py"


use rule measure_perplexity as measure_stage_perplexity with:
    """Measure perplexity of a checkpoint after its training stages, or of a model before training."""
    input:
        model=INPUTS.get_checkpoint_manifest,
        data=INPUTS.list_datasets(MEASURED_TEXTS.values()),
    output:
        get_record_files("training/perplexity/{checkpoint}/wikitext", "wikitext"),
        get_record_files("training/perplexity/{checkpoint}/magpie", "magpie"),
    log:
        "logs/measure_stage_perplexity/{checkpoint}.log",
    resources:
        **estimate_resources("measure_stage_perplexity", ESTIMATOR.estimate_perplexity),
    params:
        version="measure_stage_perplexity 4",
        compute_threads=SETTINGS.compute.threads,
        request=build_perplexity_request(SETTINGS).to_params(),


rule measure_written:
    """Generate text in many untrained chunk plans, and measure its perplexity under the unchanged model."""
    input:
        model=INPUTS.get_base_manifest,
    output:
        get_record_files("chunking/perplexity/{model}/written"),
    log:
        "logs/measure_written/{model}.log",
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **estimate_resources("measure_written", ESTIMATOR.estimate_untrained_perplexity),
    params:
        version="measure_written 2",
        compute_threads=SETTINGS.compute.threads,
        request=lambda wildcards: build_written_request(SETTINGS, wildcards.model).to_params(),
    script:
        "../workflow_scripts/evaluation/measure_written.py"


rule measure_latency:
    """Measure prefill and generation latency of a model in many chunk plans, against the unchanged model."""
    input:
        model=INPUTS.get_base_manifest,
        data=INPUTS.list_datasets([QUESTION_DATASETS["mmlu"]]),
    output:
        get_record_files("latency/latency/{model}/mmlu"),
    log:
        "logs/measure_latency/{model}.log",
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **estimate_resources("measure_latency", ESTIMATOR.estimate_latency),
    params:
        version="measure_latency 4",
        compute_threads=SETTINGS.compute.threads,
        request=lambda wildcards: build_latency_request(SETTINGS, wildcards.model).to_params(),
    script:
        "../workflow_scripts/evaluation/measure_latency.py"


rule chunking_plans:
    """Tabulate the chunked checkpoints: plan, size and numerical exactness."""
    input:
        reports=expand(rules.verify_chunked.output, checkpoint=INPUTS.chunked),
    output:
        table=multiext("results/tables/chunking_plans", ".csv", ".md", ".tex"),
    log:
        "logs/chunking_plans.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
    script:
        "../workflow_scripts/studies/chunking/plans.py"


rule chunking_perplexity:
    """Tabulate the perplexity of untrained plans, pruned layers included, and plot it by the number of chunks."""
    input:
        scores="results/scores/chunking.parquet",
    output:
        table=multiext("results/tables/chunking_perplexity", ".csv", ".md", ".tex"),
        figure=get_figure_files("chunking_perplexity", "Chunking"),
    log:
        "logs/chunking_perplexity.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
        arguments={
            "models": SETTINGS.chunking.models,
            "texts": [*TEXTS, *(["written"] if SETTINGS.chunking.measures.written_tokens else [])],
        },
    script:
        "../workflow_scripts/studies/chunking/perplexity.py"


rule chunking_latency:
    """Tabulate and plot the speedup of chunked and pruned models over the unchanged model."""
    input:
        scores="results/scores/latency.parquet",
    output:
        table=multiext("results/tables/chunking_latency", ".csv", ".md", ".tex"),
        figure=get_figure_files("chunking_latency", "Chunking"),
    log:
        "logs/chunking_latency.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
        arguments={"models": SETTINGS.chunking.timed_models},
    script:
        "../workflow_scripts/studies/chunking/latency.py"


rule chunking_quality:
    """Compare every checkpoint after every training stage with the unchanged model: perplexity, MMLU and speed."""
    input:
        stages="results/tables/training_stages.csv" if "training" in RECORDS else [],
        mmlu="results/tables/mmlu_by_subject.csv",
        latency="results/tables/chunking_latency.csv" if SETTINGS.chunking.timed_models else [],
        records=RECORDS.get("mmlu", []),
    output:
        table=multiext("results/tables/chunking_quality", ".csv", ".md", ".tex"),
        figure=get_figure_files("chunking_quality", "Chunking"),
    log:
        "logs/chunking_quality.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments={"checkpoints": [str(id) for id in SETTINGS.list_staged_checkpoints()]},
    script:
        "../workflow_scripts/studies/chunking/quality.py"


# The tables and figures of untrained chunk plans for which this config has data.
UNTRAINED_PLANS = [
    *(rules.chunking_plans.output if INPUTS.chunked else ()),
    *(rules.chunking_latency.output if SETTINGS.chunking.timed_models else ()),
    *(rules.chunking_perplexity.output if INPUTS.chunked else ()),
]


rule chunking:
    """Study: build, verify and measure chunked models in many chunk plans before any training."""
    input:
        expand(rules.build_chunked.output, checkpoint=INPUTS.chunked),
        RECORDS.get("chunking", []),
        RECORDS.get("latency", []),
        UNTRAINED_PLANS,
