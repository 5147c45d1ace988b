"""MMLU as published: each model that is cut into chunks, and its checkpoints, on all 57 subjects."""

from workflow_scripts.settings.chunked_tables import mmlu_checkpoints
from workflow_scripts.settings.mmlu import mmlu_request

MMLU_CHECKPOINTS = SETTINGS.mmlu_checkpoints()
_MMLU_TABLE = mmlu_checkpoints(SETTINGS)
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


use rule table from tables as table_mmlu_by_subject with:
    """Table: MMLU by subject, beside floors and published scores."""
    input:
        scores="results/scores/mmlu.parquet",
        published=[published_file(f"{name}.csv") for name in _MMLU_TABLE.published],
    output:
        **table_files("mmlu_by_subject"),
    log:
        "logs/table_mmlu_by_subject.log",
    localrule: True
    params:
        version=1,
        table="studies.mmlu.by_subject",
        request=_MMLU_TABLE.as_params(),


use rule figure from figures as figure_mmlu_by_subject with:
    """Figure: MMLU by subject, above and below the floor."""
    input:
        table="results/tables/mmlu_by_subject.csv",
    output:
        **figure_files("mmlu_by_subject", "MMLU"),
    log:
        "logs/figure_mmlu_by_subject.log",
    localrule: True
    params:
        version=1,
        figure="studies.mmlu.by_subject",
        request={},


rule mmlu:
    """Study: MMLU as published, of each model that is cut into chunks, and its checkpoints."""
    input:
        made_of("mmlu"),
