"""Ablations: chunked checkpoints of the same layers that differ in one choice, after the same training."""

from workflow_scripts.settings.chunked_tables import ablated_checkpoints


use rule table from tables as table_chunking_ablation with:
    """Table: what each choice of a chunked checkpoint buys in perplexity and MMLU, pair by pair."""
    input:
        records=[*RECORDS.get("training", []), *RECORDS.get("mmlu", [])],
        trained=[f"results/training/{name}.json" for name in TRAINED],
        stages="results/tables/training_stages.csv",
        mmlu="results/tables/mmlu_by_subject.csv",
        latency="results/tables/chunking_latency.csv",
    output:
        **table_files("chunking_ablation"),
    log:
        "logs/table_chunking_ablation.log",
    localrule: True
    params:
        version=1,
        table="studies.chunking.ablation",
        request=ablated_checkpoints(SETTINGS).as_params(),


use rule figure from figures as figure_chunking_ablation with:
    """Figure: how far each choice is from the usual form of the same layers."""
    input:
        table="results/tables/chunking_ablation.csv",
    output:
        **figure_files("chunking_ablation", "Chunking"),
    log:
        "logs/figure_chunking_ablation.log",
    localrule: True
    params:
        version=1,
        figure="studies.chunking.ablation_figure",
        request={},


rule ablation:
    """Study: what aggregation, adapters and distillation are worth, at equal training tokens."""
    input:
        made_of("ablation"),
