"""Chunked models: built, verified, and measured in many plans before any training."""

from workflow_scripts.settings.chunked_tables import measured_models, timed_models

_MANIFEST = "results/checkpoints/{checkpoint}/manifest.json"
_REPORT = "results/verified/{checkpoint}.json"


rule build_chunked:
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
    threads: 1
    resources:
        **planned("build_chunked", planned_of("building"), gpu=False),
    params:
        version="build_chunked 3",
        request=build_request_of,
    script:
        "../workflow_scripts/steps/build_chunked.py"


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
        request=verify_request(SETTINGS).as_params(),
    script:
        "../workflow_scripts/steps/verify_chunked.py"


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


rule measure_latency:
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
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("measure_latency", planned_of("latency", "model")),
    params:
        version="measure_latency 3",
        compute_threads=SETTINGS.compute.threads,
        measurement="evaluation.plan_latency",
        request=asked_of_latency,
    script:
        "../workflow_scripts/steps/measure.py"


use rule table from tables as table_chunking_plans with:
    """Table: the chunked checkpoints, what they are made of and how exact they are."""
    input:
        reports=expand(_REPORT, checkpoint=CHECKPOINTS),
    output:
        **table_files("chunking_plans"),
    log:
        "logs/table_chunking_plans.log",
    localrule: True
    params:
        version=1,
        table="studies.chunking.plans",
        request={},


use rule table from tables as table_chunking_perplexity with:
    """Table: perplexity of untrained plans by the number of chunks."""
    input:
        scores="results/scores/chunking.parquet",
    output:
        **table_files("chunking_perplexity"),
    log:
        "logs/table_chunking_perplexity.log",
    localrule: True
    params:
        version=1,
        table="studies.chunking.perplexity",
        request=measured_models(SETTINGS).as_params(),


use rule figure from figures as figure_chunking_perplexity with:
    """Figure: how much an untrained model loses when its layers are cut into chunks."""
    input:
        table="results/tables/chunking_perplexity.csv",
    output:
        **figure_files("chunking_perplexity", "Chunking"),
    log:
        "logs/figure_chunking_perplexity.log",
    localrule: True
    params:
        version=1,
        figure="studies.chunking.perplexity",
        request={},


use rule table from tables as table_chunking_latency with:
    """Table: times of chunked models beside the unchanged one."""
    input:
        scores="results/scores/latency.parquet",
    output:
        **table_files("chunking_latency"),
    log:
        "logs/table_chunking_latency.log",
    localrule: True
    params:
        version=2,
        table="studies.chunking.latency",
        request=timed_models(SETTINGS).as_params(),


use rule figure from figures as figure_chunking_latency with:
    """Figure: how much faster chunked models write, by batch size."""
    input:
        table="results/tables/chunking_latency.csv",
    output:
        **figure_files("chunking_latency", "Chunking"),
    log:
        "logs/figure_chunking_latency.log",
    localrule: True
    params:
        version=2,
        figure="studies.chunking.latency",
        request={},


use rule table from tables as table_chunking_precisions with:
    """Table: speed and loss of chunked models in other number formats."""
    input:
        scores="results/scores/latency.parquet",
    output:
        **table_files("chunking_precisions"),
    log:
        "logs/table_chunking_precisions.log",
    localrule: True
    params:
        version=1,
        table="studies.chunking.precisions",
        request=timed_models(SETTINGS).as_params(),


use rule table from tables as table_chunking_pruning with:
    """Table: what leaving layers out costs in perplexity and saves in time."""
    input:
        perplexity="results/scores/chunking.parquet",
        latency="results/scores/latency.parquet",
    output:
        **table_files("chunking_pruning"),
    log:
        "logs/table_chunking_pruning.log",
    localrule: True
    params:
        version=1,
        table="studies.chunking.pruning",
        request=measured_models(SETTINGS).as_params(),


use rule figure from figures as figure_chunking_pruning with:
    """Figure: perplexity with layers left out."""
    input:
        table="results/tables/chunking_pruning.csv",
    output:
        **figure_files("chunking_pruning", "Chunking"),
    log:
        "logs/figure_chunking_pruning.log",
    localrule: True
    params:
        version=1,
        figure="studies.chunking.pruning",
        request={},


rule chunking:
    """Study: chunked models, built, verified, and measured in many plans before any training."""
    input:
        expand(_MANIFEST, checkpoint=CHECKPOINTS),
        made_of("plans", "chunking", "latency", "precisions", "pruning"),
