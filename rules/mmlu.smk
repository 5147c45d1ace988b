"""MMLU as published: each model that is cut into chunks, and its checkpoints, on all 57 subjects."""

from workflow_scripts.settings.chunked_tables import mmlu_checkpoints
from workflow_scripts.settings.measures import mmlu_request

MMLU_CHECKPOINTS = SETTINGS.mmlu_checkpoints()
_MMLU_TABLE = mmlu_checkpoints(SETTINGS)


rule evaluate_mmlu:
    """Ask a model or checkpoint MMLU, lighteval's task with HELM's prompt."""
    input:
        model=checkpoint_manifest,
        data=[manifest_of("dataset", MMLU_DATASET)],
    output:
        record="results/records/mmlu/few_shot/{checkpoint}/mmlu_helm.json",
        answers="results/records/mmlu/few_shot/{checkpoint}/mmlu_helm.parquet",
    log:
        "logs/evaluate_mmlu/{checkpoint}.log",
    wildcard_constraints:
        checkpoint=one_of(evaluated.in_path for evaluated in MMLU_CHECKPOINTS),
    priority: longest_first("evaluate_mmlu")
    conda:
        LIGHTEVAL_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("evaluate_mmlu", planned_of("mmlu")),
    params:
        version="evaluate_mmlu 1",  # raise it when the meaning of the record changes
        compute_threads=SETTINGS.compute.threads,
        measurement="evaluation.mmlu",
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
