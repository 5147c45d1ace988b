"""Figures of the Harmony study; each is drawn from one of its tables."""


rule figure_harmony_matrices:
    """Figure: agreement of every pair of tasks about the models."""
    input:
        table=rules.table_harmony_agreement.output.csv,
    output:
        pdf="results/figures/harmony_matrices.pdf",
        png=report(
            "results/figures/harmony_matrices.png",
            category="Harmony",
            caption="../docs/captions/harmony_matrices.rst",
        ),
    log:
        "logs/figure_harmony_matrices.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="figure_harmony_matrices 1",
        settings={"tasks": HARMONY_GRID["tasks"]},
    script:
        "../workflow_scripts/steps/figure_harmony_matrices.py"


rule figure_harmony_agreement_by_task:
    """Figure: agreement of each task with all others, and its noise ceiling."""
    input:
        table=rules.table_harmony_agreement.output.csv,
    output:
        pdf="results/figures/harmony_agreement_by_task.pdf",
        png=report(
            "results/figures/harmony_agreement_by_task.png",
            category="Harmony",
            caption="../docs/captions/harmony_agreement_by_task.rst",
        ),
    log:
        "logs/figure_harmony_agreement_by_task.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="figure_harmony_agreement_by_task 1",
        settings={"tasks": HARMONY_GRID["tasks"]},
    script:
        "../workflow_scripts/steps/figure_harmony_agreement_by_task.py"


rule figure_harmony_categories:
    """Figure: agreement of tasks by their categories."""
    input:
        table=rules.table_harmony_agreement.output.csv,
    output:
        pdf="results/figures/harmony_categories.pdf",
        png=report(
            "results/figures/harmony_categories.png",
            category="Harmony",
            caption="../docs/captions/harmony_categories.rst",
        ),
    log:
        "logs/figure_harmony_categories.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="figure_harmony_categories 1",
    script:
        "../workflow_scripts/steps/figure_harmony_categories.py"


rule figure_harmony_components:
    """Figure: principal components of the scores, and the loadings of the tasks."""
    input:
        table=rules.table_harmony_components.output.csv,
    output:
        pdf="results/figures/harmony_components.pdf",
        png=report(
            "results/figures/harmony_components.png",
            category="Harmony",
            caption="../docs/captions/harmony_components.rst",
        ),
    log:
        "logs/figure_harmony_components.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="figure_harmony_components 1",
        settings={"tasks": HARMONY_GRID["tasks"]},
    script:
        "../workflow_scripts/steps/figure_harmony_components.py"


rule figure_harmony_pc1_by_size:
    """Figure: the first principal component of each model beside its size."""
    input:
        table=rules.table_harmony_leaderboard.output.csv,
    output:
        pdf="results/figures/harmony_pc1_by_size.pdf",
        png=report(
            "results/figures/harmony_pc1_by_size.png",
            category="Harmony",
            caption="../docs/captions/harmony_pc1_by_size.rst",
        ),
    log:
        "logs/figure_harmony_pc1_by_size.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="figure_harmony_pc1_by_size 2",
    script:
        "../workflow_scripts/steps/figure_harmony_pc1_by_size.py"


rule figure_harmony_bump:
    """Figure: ranks of the models under each protocol."""
    input:
        table=rules.table_harmony_leaderboard.output.csv,
    output:
        pdf="results/figures/harmony_bump.pdf",
        png=report(
            "results/figures/harmony_bump.png",
            category="Harmony",
            caption="../docs/captions/harmony_bump.rst",
        ),
    log:
        "logs/figure_harmony_bump.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="figure_harmony_bump 2",
    script:
        "../workflow_scripts/steps/figure_harmony_bump.py"


rule figure_harmony_panel:
    """Figure: the place of each model on the published leaderboard."""
    input:
        table=rules.table_harmony_panel.output.csv,
        published=published_file("harmony_leaderboard"),
    output:
        pdf="results/figures/harmony_panel.pdf",
        png=report(
            "results/figures/harmony_panel.png",
            category="Harmony",
            caption="../docs/captions/harmony_panel.rst",
        ),
    log:
        "logs/figure_harmony_panel.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="figure_harmony_panel 1",
    script:
        "../workflow_scripts/steps/figure_harmony_panel.py"


HARMONY_FIGURES = [
    rules.figure_harmony_matrices.output,
    rules.figure_harmony_agreement_by_task.output,
    rules.figure_harmony_categories.output,
    rules.figure_harmony_components.output,
    rules.figure_harmony_pc1_by_size.output,
    rules.figure_harmony_bump.output,
    rules.figure_harmony_panel.output,
]
