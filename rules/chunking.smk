"""Chunked models: built, verified, and measured in many plans before any training."""

_MANIFEST = "results/checkpoints/{checkpoint}/manifest.json"
_REPORT = "results/verified/{checkpoint}.json"


use rule collect_scores as build_chunked with:
    """Cut a model into chunks of layers that run side by side: a checkpoint, its weights linked."""
    input:
        model=base_manifest,
    output:
        manifest=_MANIFEST,
    log:
        "logs/build_chunked/{checkpoint}.log",
    wildcard_constraints:
        checkpoint=one_of(CHECKPOINTS),
    conda:
        "../envs/lm_eval.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 8000 * attempt,
        runtime="2h",
    params:
        version="build_chunked 3",
        function="hub.chunk.make_chunked",
        request=build_request_of,


rule verify_chunked:
    """Hold a chunked checkpoint against its plain loop and its base, and draw its plan."""
    input:
        checkpoint=_MANIFEST,
        model=base_manifest,
    output:
        report=_REPORT,
    log:
        "logs/verify_chunked/{checkpoint}.log",
    wildcard_constraints:
        checkpoint=one_of(CHECKPOINTS),
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("verify_chunked", planned_of("verification")),
    params:
        version="verify_chunked 1",
        compute_threads=SETTINGS.compute.threads,
        function="evaluation.parity.verify_chunked",
        request=verify_request(SETTINGS).as_params(),
    script:
        "../workflow_scripts/steps/files.py"


rule measure_perplexity:
    """Perplexity of a model in many plans, untrained, on wikitext and Magpie."""
    input:
        model=model_manifest,
        data=[manifest_of("dataset", name) for name in MEASURED_TEXTS.values()],
    output:
        wikitext="results/records/chunking/perplexity/{model}/wikitext.json",
        wikitext_pieces="results/records/chunking/perplexity/{model}/wikitext.parquet",
        magpie="results/records/chunking/perplexity/{model}/magpie.json",
        magpie_pieces="results/records/chunking/perplexity/{model}/magpie.parquet",
    log:
        "logs/measure_perplexity/{model}.log",
    priority: longest_first("measure_perplexity")
    retries: retries(2)
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("measure_perplexity", perplexity_need),
    params:
        version="measure_perplexity 3",
        compute_threads=SETTINGS.compute.threads,
        measurement="evaluation.plans",
        request=asked_of_perplexity,
    script:
        "../workflow_scripts/steps/measure.py"


use rule measure_perplexity as measure_written with:
    """Perplexity, under the unchanged model, of what it writes in many plans, untrained."""
    input:
        model=model_manifest,
        data=[],
    output:
        record="results/records/chunking/perplexity/{model}/written.json",
        responses="results/records/chunking/perplexity/{model}/written.parquet",
    log:
        "logs/measure_written/{model}.log",
    priority: longest_first("measure_written")
    resources:
        **planned("measure_written", written_need),
    params:
        version="measure_written 1",
        compute_threads=SETTINGS.compute.threads,
        measurement="evaluation.written",
        request=asked_of_written,


use rule measure_perplexity as measure_latency with:
    """Time of a model in many plans, reading and writing, beside the unchanged model."""
    input:
        model=model_manifest,
        data=[manifest_of("dataset", QUESTIONS["mmlu"])],
    output:
        record="results/records/latency/latency/{model}/mmlu.json",
        rounds="results/records/latency/latency/{model}/mmlu.parquet",
    log:
        "logs/measure_latency/{model}.log",
    priority: longest_first("measure_latency")
    resources:
        **planned("measure_latency", planned_of("latency", "model")),
    params:
        version="measure_latency 3",
        compute_threads=SETTINGS.compute.threads,
        measurement="evaluation.plan_latency",
        request=asked_of_latency,


rule chunking:
    """Study: chunked models, built, verified, and measured in many plans before any training."""
    input:
        expand(_MANIFEST, checkpoint=CHECKPOINTS),
        made_of("chunking"),
