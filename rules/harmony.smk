"""The Harmony study: its tables, its figures, each drawn from one of those tables, and its target."""

from workflow_scripts.settings.explain import explain_training_request
from workflow_scripts.settings.ranking import (
    compute_request,
    grid_request,
    models_request,
    pair_request,
    ranking_request,
    scores_request,
    grid_words,
)

# What every table of the study is made from.
HARMONY_SCORES = {
    "scores": "results/scores/harmony.parquet",
    "imported": SETTINGS.harmony.imported_scores,
}


use rule table from tables as table_harmony_scores with:
    """Table: scores of the Harmony grid as the models are, beside their floors."""
    input:
        **HARMONY_SCORES,
    output:
        **table_files("harmony_scores"),
    log:
        "logs/table_harmony_scores.log",
    localrule: True
    params:
        version=2,
        table="studies.harmony.scores",
        request=scores_request(SETTINGS).as_params(),


use rule table from tables as table_harmony_leaderboard with:
    """Table: models ranked by the first principal component, with ranges of ranks."""
    input:
        **HARMONY_SCORES,
    output:
        **table_files("harmony_leaderboard"),
    log:
        "logs/table_harmony_leaderboard.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.leaderboard",
        request=ranking_request(SETTINGS).as_params(),


use rule table from tables as table_harmony_agreement with:
    """Table: agreement of tasks about models, with intervals and noise ceilings."""
    input:
        **HARMONY_SCORES,
    output:
        **table_files("harmony_agreement"),
    log:
        "logs/table_harmony_agreement.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.agreement",
        request=ranking_request(SETTINGS).as_params(),


use rule table from tables as table_harmony_components with:
    """Table: principal components of the scores."""
    input:
        **HARMONY_SCORES,
    output:
        **table_files("harmony_components"),
    log:
        "logs/table_harmony_components.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.components",
        request=ranking_request(SETTINGS).as_params(),


use rule table from tables as table_harmony_significance with:
    """Table: which models differ, on the mean of the tasks and on each."""
    input:
        **HARMONY_SCORES,
        records=lambda wildcards: RECORDS.get("harmony", []),
    output:
        **table_files("harmony_significance"),
    log:
        "logs/table_harmony_significance.log",
    localrule: True
    params:
        version=2,
        table="studies.ranking.significance",
        request=grid_request(SETTINGS).as_params(),


use rule table from tables as table_harmony_panel with:
    """Table: the place of each model on the published leaderboard, with an interval."""
    input:
        **HARMONY_SCORES,
        published=published_file("harmony_leaderboard.csv"),
    output:
        **table_files("harmony_panel"),
    log:
        "logs/table_harmony_panel.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.panel",
        request=grid_request(SETTINGS).as_params(),


use rule table from tables as table_harmony_task_pair with:
    """Table: two tasks of the config side by side, by what differs significantly."""
    input:
        **HARMONY_SCORES,
    output:
        **table_files("harmony_task_pair"),
    log:
        "logs/table_harmony_task_pair.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.two_tasks",
        request=pair_request(SETTINGS).as_params(),


use rule figure from figures as figure_harmony_scores with:
    """Figure: scores of the Harmony grid as the models are, beside their floors."""
    input:
        table="results/tables/harmony_scores.csv",
    output:
        **figure_files("harmony_scores", "Harmony"),
    log:
        "logs/figure_harmony_scores.log",
    localrule: True
    params:
        version=2,
        figure="studies.harmony.scores",
        request=models_request(SETTINGS).as_params(),


use rule figure from figures as figure_harmony_matrices with:
    """Figure: agreement of every pair of tasks about the models."""
    input:
        table="results/tables/harmony_agreement.csv",
    output:
        **figure_files("harmony_matrices", "Harmony"),
    log:
        "logs/figure_harmony_matrices.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.matrices",
        request=grid_words(SETTINGS).as_params(),


use rule figure from figures as figure_harmony_agreement_by_task with:
    """Figure: agreement of each task with all others, and its noise ceiling."""
    input:
        table="results/tables/harmony_agreement.csv",
    output:
        **figure_files("harmony_agreement_by_task", "Harmony"),
    log:
        "logs/figure_harmony_agreement_by_task.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.agreement_by_task",
        request=grid_words(SETTINGS).as_params(),


use rule figure from figures as figure_harmony_categories with:
    """Figure: agreement of tasks by their categories."""
    input:
        table="results/tables/harmony_agreement.csv",
    output:
        **figure_files("harmony_categories", "Harmony"),
    log:
        "logs/figure_harmony_categories.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.categories",
        request=grid_words(SETTINGS).as_params(),


use rule figure from figures as figure_harmony_components with:
    """Figure: principal components of the scores, and the loadings of the tasks."""
    input:
        table="results/tables/harmony_components.csv",
    output:
        **figure_files("harmony_components", "Harmony"),
    log:
        "logs/figure_harmony_components.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.components",
        request=grid_words(SETTINGS).as_params(),


use rule figure from figures as figure_harmony_pc1_by_size with:
    """Figure: the first principal component of each model beside its size."""
    input:
        table="results/tables/harmony_leaderboard.csv",
    output:
        **figure_files("harmony_pc1_by_size", "Harmony"),
    log:
        "logs/figure_harmony_pc1_by_size.log",
    localrule: True
    params:
        version=2,
        figure="studies.ranking.pc1_by_size",
        request=grid_words(SETTINGS).as_params(),


use rule figure from figures as figure_harmony_bump with:
    """Figure: ranks of the models under each protocol."""
    input:
        table="results/tables/harmony_leaderboard.csv",
    output:
        **figure_files("harmony_bump", "Harmony"),
    log:
        "logs/figure_harmony_bump.log",
    localrule: True
    params:
        version=3,
        figure="studies.ranking.bump",
        request=grid_words(SETTINGS).as_params(),


use rule figure from figures as figure_harmony_pc1_by_compute with:
    """Figure: the first principal component of each model beside the compute of its pre-training."""
    input:
        table="results/tables/harmony_leaderboard.csv",
    output:
        **figure_files("harmony_pc1_by_compute", "Harmony"),
    log:
        "logs/figure_harmony_pc1_by_compute.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.pc1_by_compute",
        request=compute_request(SETTINGS).as_params(),


use rule figure from figures as figure_harmony_task_pair with:
    """Figure: ranks of the models on two tasks of the config."""
    input:
        table="results/tables/harmony_task_pair.csv",
    output:
        **figure_files("harmony_task_pair", "Harmony"),
    log:
        "logs/figure_harmony_task_pair.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.two_tasks",
        request=grid_words(SETTINGS).as_params(),


use rule figure from figures as figure_harmony_panel with:
    """Figure: the place of each model on the published leaderboard."""
    input:
        table="results/tables/harmony_panel.csv",
        published=published_file("harmony_leaderboard.csv"),
    output:
        **figure_files("harmony_panel", "Harmony"),
    log:
        "logs/figure_harmony_panel.log",
    localrule: True
    params:
        version=2,
        figure="studies.ranking.panel",
        request=grid_words(SETTINGS).as_params(),


rule explain_training:
    """Show a training item and a test item in text and tokens (--config explain=task/number)."""
    input:
        model=explained_models,
        data=explained_task_data,
    output:
        text="results/explained_training.txt",
    log:
        "logs/explain_training.log",
    localrule: True
    conda:
        EVALUATION_ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="explain_training 1",
        function="grid.explain.explain_training",
        request=lambda wildcards: explain_training_request(SETTINGS).as_params(),
    script:
        "../workflow_scripts/steps/measure.py"


rule harmony:
    """Study: models ranked on tasks as they are and after training on each, and whether tasks agree."""
    input:
        made_of("harmony", "corpora"),
