"""MMLU as published: each model that is cut into chunks, and its checkpoints, on all 57 subjects."""

from workflow_scripts.settings.mmlu import mmlu_request

MMLU_CHECKPOINTS = SETTINGS.mmlu_checkpoints()
mmlu_need = checkpoints_in_a_job(
    MMLU_CHECKPOINTS, lambda asked: PLANNER.mmlu(*(checkpoint.in_path for checkpoint in asked))
)


rule evaluate_mmlu:
    """Ask models and checkpoints MMLU, lighteval's task with HELM's prompt."""
    input:
        model=checkpoints_in_a_job(MMLU_CHECKPOINTS, manifests_of_checkpoints),
        data=[manifest_of("dataset", MMLU_DATASET)],
    output:
        record=each("results/records/mmlu/few_shot/{checkpoint}/mmlu_helm.json", MMLU_CHECKPOINTS),
        answers=each(
            "results/records/mmlu/few_shot/{checkpoint}/mmlu_helm.parquet", MMLU_CHECKPOINTS
        ),
    log:
        beside_each("logs/evaluate_mmlu/{checkpoint}.log"),
    benchmark:
        beside_each("benchmarks/evaluate_mmlu/{checkpoint}.tsv")
    wildcard_constraints:
        checkpoint=one_of(evaluated.in_path for evaluated in MMLU_CHECKPOINTS),
    priority: longest_first("evaluate_mmlu")
    conda:
        LIGHTEVAL_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("evaluate_mmlu", mmlu_need),
    params:
        version="evaluate_mmlu 1",  # raise it when the meaning of the record changes
        compute_threads=SETTINGS.compute.threads,
        function="evaluation.mmlu.evaluate_mmlu",
        reader="core.records.whole_record",
        request=mmlu_request(SETTINGS).as_params(),
    script:
        "../workflow_scripts/steps/measure.py"


rule mmlu:
    """Study: MMLU as published, of each model that is cut into chunks, and its checkpoints."""
    input:
        made_of("mmlu"),
