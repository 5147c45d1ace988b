"""Which chunk plans of a model are worth training: measured, predicted, proposed and checked."""

from workflow_scripts.settings.measures import search_request, searched_models


rule measure_plan_search:
    """Perplexity with each layer left out and each stretch of layers side by side, then of the plans proposed."""
    input:
        model=model_manifest,
        data=[SEARCHED_TEXT],
    output:
        record="results/records/chunk_search/perplexity/{model}/{text}.json",
        pieces="results/records/chunk_search/perplexity/{model}/{text}.parquet",
    log:
        "logs/measure_plan_search/{model}/{text}.log",
    wildcard_constraints:
        text=SETTINGS.chunking.search.text,
    priority: longest_first("measure_plan_search")
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("measure_plan_search", planned_of("plan_search", "model")),
    params:
        version="measure_plan_search 1",
        compute_threads=SETTINGS.compute.threads,
        measurement="evaluation.plan_search",
        request=search_request(SETTINGS).as_params(),
    script:
        "../workflow_scripts/steps/measure.py"


use rule table from tables as table_chunking_search with:
    """Table: plans that are worth training, beside evenly spaced ones of the same depth."""
    input:
        records=expand(
            rules.measure_plan_search.output.record,
            model=[CheckpointId(name).in_path for name in SETTINGS.chunking.searched_models],
            text=SETTINGS.chunking.search.text,
        ),
    output:
        **table_files("chunking_search"),
    log:
        "logs/table_chunking_search.log",
    localrule: True
    params:
        version=1,
        table="studies.chunking.search",
        request=searched_models(SETTINGS).as_params(),


use rule figure from figures as figure_chunking_search with:
    """Figure: predicted cost of plans by their depth, and how true the prediction is."""
    input:
        table="results/tables/chunking_search.csv",
    output:
        **figure_files("chunking_search", "Chunking"),
    log:
        "logs/figure_chunking_search.log",
    localrule: True
    params:
        version=1,
        figure="studies.chunking.search_figure",
        request={},


rule chunk_search:
    """Propose chunk plans that are worth training for a wanted speed-up; trains nothing."""
    input:
        rules.table_chunking_search.output,
        rules.figure_chunking_search.output,
