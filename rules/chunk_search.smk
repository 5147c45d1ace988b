"""Which chunk plans of a model are worth training: measured, predicted, proposed and checked."""

from workflow_scripts.evaluation.requests import search_request


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
    retries: retries(2)
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


rule chunk_search:
    """Propose chunk plans that are worth training for a wanted speed-up; trains nothing."""
    input:
        made_of("chunk_search"),
