"""What a run will cost, before it runs (`snakemake plan`), and what it did cost."""

from workflow_scripts.bridge.snakemake_settings import main_snakefile
from workflow_scripts.settings.paper import CostTable


# Without an output: asked for by name it always runs.
rule plan:
    """Say what the run will cost before it runs; measures nothing."""
    log:
        "logs/plan.log",
    localrule: True
    conda:
        "../envs/planning.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="plan 1",
        snakefile=main_snakefile(workflow),
        settings={"config": config, "cluster": SETTINGS.cluster.model_dump()},
    script:
        "../workflow_scripts/steps/plan.py"


# A table of times: never twice the same, and nothing is made from it.
use rule table from tables as table_cost with:
    """Table: planned and actual time, memory and tokens of each rule."""
    input:
        records=all_records,
    output:
        **table_files("cost"),
    log:
        "logs/table_cost.log",
    localrule: True
    conda:
        "../../envs/planning.yaml"
    params:
        version=1,
        table="paper.cost",
        request=CostTable(
            snakefile=main_snakefile(workflow), config=config, cluster=SETTINGS.cluster
        ).as_params(),
