"""MMLU as published: each model that is cut into chunks, and its checkpoints, on all 57 subjects."""

from workflow_scripts.settings.mmlu import mmlu_request, published_table

MMLU_CHECKPOINTS = SETTINGS.mmlu_checkpoints()
# By checkpoint: which of the tables in resources/published is of the same variant.
MMLU_PUBLISHED = {
    str(evaluated): published_table(evaluated, SETTINGS.source) for evaluated in MMLU_CHECKPOINTS
}


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
    benchmark:
        "benchmarks/evaluate_mmlu/{checkpoint}.tsv"
    wildcard_constraints:
        checkpoint=one_of(evaluated.in_path for evaluated in MMLU_CHECKPOINTS),
    conda:
        LIGHTEVAL_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("evaluate_mmlu", planned_of("mmlu")),
    params:
        version="evaluate_mmlu 1",  # raise it when the meaning of the record changes
        compute_threads=SETTINGS.compute.threads,
        function="evaluation.mmlu.evaluate_mmlu",
        request=mmlu_request(SETTINGS).as_params(),
    script:
        "../workflow_scripts/steps/measure.py"


if MMLU_CHECKPOINTS:
    RECORDS["mmlu"] = [
        f"results/records/mmlu/few_shot/{evaluated.in_path}/mmlu_helm.json"
        for evaluated in MMLU_CHECKPOINTS
    ]


rule table_mmlu_by_subject:
    """Table: MMLU by subject, beside floors and published scores."""
    input:
        scores="results/scores/mmlu.parquet",
        published=[published_file(name) for name in dict.fromkeys(MMLU_PUBLISHED.values()) if name],
    output:
        csv="results/tables/mmlu_by_subject.csv",
        md="results/tables/mmlu_by_subject.md",
        tex="results/tables/mmlu_by_subject.tex",
    log:
        "logs/table_mmlu_by_subject.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="table_mmlu_by_subject 1",
        settings={
            "checkpoints": [
                {"id": name, "published": published} for name, published in MMLU_PUBLISHED.items()
            ],
        },
    script:
        "../workflow_scripts/steps/table_mmlu_by_subject.py"


rule figure_mmlu_by_subject:
    """Figure: MMLU by subject, above and below the floor."""
    input:
        table=rules.table_mmlu_by_subject.output.csv,
    output:
        pdf="results/figures/mmlu_by_subject.pdf",
        png=report(
            "results/figures/mmlu_by_subject.png",
            category="MMLU",
            caption="../docs/captions/mmlu_by_subject.rst",
        ),
    log:
        "logs/figure_mmlu_by_subject.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="figure_mmlu_by_subject 1",
    script:
        "../workflow_scripts/steps/figure_mmlu_by_subject.py"


rule mmlu:
    """Study: MMLU as published, of each model that is cut into chunks, and its checkpoints."""
    input:
        # The records too, or a deleted one would stay away while its table is there.
        [
            RECORDS["mmlu"],
            rules.table_mmlu_by_subject.output,
            rules.figure_mmlu_by_subject.output,
        ]
        if MMLU_CHECKPOINTS
        else [],
