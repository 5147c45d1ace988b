"""Evaluate each chunked model and its checkpoints on all 57 subjects of MMLU."""

from workflow_scripts.evaluation.requests import build_mmlu_request
from workflow_scripts.settings.mmlu import DATASET, find_published_table

# The checkpoints to evaluate, each with the published table of its variant, or None.
MMLU_CHECKPOINTS = {
    str(id): find_published_table(id, SETTINGS.source) for id in SETTINGS.list_mmlu_checkpoints()
}


rule evaluate_mmlu:
    """Evaluate a model on MMLU: lighteval's task with HELM's prompt."""
    input:
        model=INPUTS.get_checkpoint_manifest,
        data=INPUTS.list_datasets([DATASET]),
    output:
        get_record_files("mmlu/few_shot/{checkpoint}/mmlu_helm"),
    log:
        "logs/evaluate_mmlu/{checkpoint}.log",
    conda:
        LIGHTEVAL_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **estimate_resources("evaluate_mmlu", ESTIMATOR.estimate_mmlu),
    params:
        version="evaluate_mmlu 1",  # raise when the meaning of the record changes
        compute_threads=SETTINGS.compute.threads,
        request=build_mmlu_request(SETTINGS).to_params(),
    script:
        "../workflow_scripts/evaluation/mmlu.py"


rule mmlu_by_subject:
    """Tabulate and plot MMLU scores by subject, with baselines and published scores."""
    input:
        scores="results/scores/mmlu.parquet",
        published=[
            SETTINGS.find_resource(f"published/{table}.csv")
            for table in MMLU_CHECKPOINTS.values()
            if table
        ],
    output:
        table=multiext("results/tables/mmlu_by_subject", ".csv", ".md", ".tex"),
        figure=get_figure_files("mmlu_by_subject", "MMLU"),
    log:
        "logs/mmlu_by_subject.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=4,
        arguments={"checkpoints": MMLU_CHECKPOINTS},
    script:
        "../workflow_scripts/studies/mmlu/by_subject.py"


rule mmlu:
    """Study: evaluate each chunked model and its checkpoints on MMLU."""
    input:
        RECORDS.get("mmlu", []),
        rules.mmlu_by_subject.output if MMLU_CHECKPOINTS else [],
