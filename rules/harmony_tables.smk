"""Tables of the Harmony study: ranking, agreement, components, significance, place on the panel."""

# What every table of the ranking is made with. `wanted` is, by protocol, what is to be measured: of
# that the tables name what is missing.
HARMONY_GRID = {
    "models": [
        row.model_dump(include={"model", "parameters", "family", "kind"})
        for row in SETTINGS.models.values()
    ],
    "tasks": rows_of_tasks(SETTINGS.tasks),
    "wanted": {
        protocol: {"models": list(SETTINGS.harmony.models), "tasks": tasks}
        for protocol, tasks in HARMONY_WANTED.items()
    },
}
HARMONY_DRAWS = {"draws": SETTINGS.harmony.bootstrap_draws, "seed": SETTINGS.seed}


rule table_harmony_leaderboard:
    """Table: models ranked by the first principal component, with ranges of ranks."""
    input:
        scores="results/scores/harmony.parquet",
        imported=SETTINGS.harmony.imported_scores,
    output:
        csv="results/tables/harmony_leaderboard.csv",
        md="results/tables/harmony_leaderboard.md",
        tex="results/tables/harmony_leaderboard.tex",
    log:
        "logs/table_harmony_leaderboard.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        version="table_harmony_leaderboard 1",
        settings={"grid": HARMONY_GRID} | HARMONY_DRAWS,
    script:
        "../workflow_scripts/steps/table_harmony_leaderboard.py"


rule table_harmony_agreement:
    """Table: agreement of tasks about models, with intervals and noise ceilings."""
    input:
        scores="results/scores/harmony.parquet",
        imported=SETTINGS.harmony.imported_scores,
    output:
        csv="results/tables/harmony_agreement.csv",
        md="results/tables/harmony_agreement.md",
        tex="results/tables/harmony_agreement.tex",
    log:
        "logs/table_harmony_agreement.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        version="table_harmony_agreement 1",
        settings={"grid": HARMONY_GRID} | HARMONY_DRAWS,
    script:
        "../workflow_scripts/steps/table_harmony_agreement.py"


rule table_harmony_components:
    """Table: principal components of the scores."""
    input:
        scores="results/scores/harmony.parquet",
        imported=SETTINGS.harmony.imported_scores,
    output:
        csv="results/tables/harmony_components.csv",
        md="results/tables/harmony_components.md",
        tex="results/tables/harmony_components.tex",
    log:
        "logs/table_harmony_components.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        version="table_harmony_components 1",
        settings={"grid": HARMONY_GRID} | HARMONY_DRAWS,
    script:
        "../workflow_scripts/steps/table_harmony_components.py"


rule table_harmony_significance:
    """Table: which models differ, on the mean of the tasks and on each."""
    input:
        scores="results/scores/harmony.parquet",
        imported=SETTINGS.harmony.imported_scores,
        records=lambda wildcards: RECORDS.get("harmony", []),
    output:
        csv="results/tables/harmony_significance.csv",
        md="results/tables/harmony_significance.md",
        tex="results/tables/harmony_significance.tex",
    log:
        "logs/table_harmony_significance.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        version="table_harmony_significance 1",
        settings={"grid": HARMONY_GRID},
    script:
        "../workflow_scripts/steps/table_harmony_significance.py"


rule table_harmony_panel:
    """Table: the place of each model on the published leaderboard, with an interval."""
    input:
        scores="results/scores/harmony.parquet",
        imported=SETTINGS.harmony.imported_scores,
        published=published_file("harmony_leaderboard"),
    output:
        csv="results/tables/harmony_panel.csv",
        md="results/tables/harmony_panel.md",
        tex="results/tables/harmony_panel.tex",
    log:
        "logs/table_harmony_panel.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        version="table_harmony_panel 1",
        settings={"grid": HARMONY_GRID},
    script:
        "../workflow_scripts/steps/table_harmony_panel.py"


HARMONY_TABLES = [
    rules.table_harmony_leaderboard.output,
    rules.table_harmony_agreement.output,
    rules.table_harmony_components.output,
    rules.table_harmony_significance.output,
    rules.table_harmony_panel.output,
]
