"""Grids of models, tasks and protocols: what a run measures, and what others released, each table by one rule."""


include: "ranking_inputs.smk"


rule build_grid:
    """A grid as matrices of models and tasks, with what its scores are uncertain by."""
    input:
        unpack(get_grid_sources),
    output:
        grid="results/grids/{grid}.parquet",
    log:
        "logs/build_grid/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: get_grid_settings(wildcards)
        | {
            "known_models": list_grid_models(SETTINGS, GRIDS[wildcards.grid]),
            "requested": list_requested_cells(SETTINGS, GRIDS[wildcards.grid]),
        },
    script:
        "../workflow_scripts/studies/ranking/build_grid.py"


rule agreement:
    """Agreement of every two tasks, and of their categories, about the models, with intervals and ceilings."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_agreement", ".csv", ".md", ".tex"),
        figure=get_grid_figure("agreement"),
        categories=multiext("results/tables/{grid}_categories", ".csv", ".md", ".tex"),
        categories_figure=get_grid_figure("categories"),
    log:
        "logs/agreement/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=get_bootstrap_settings,
    script:
        "../workflow_scripts/studies/ranking/agreement.py"


rule agreement_by_size:
    """That agreement among models of like size, where size ranks nothing."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_agreement_by_size", ".csv", ".md", ".tex"),
    log:
        "logs/agreement_by_size/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=get_bootstrap_settings,
    script:
        "../workflow_scripts/studies/ranking/agreement_by_size.py"


rule task_pair:
    """Two tasks side by side, ranks by significant differences."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_task_pair", ".csv", ".md", ".tex"),
        figure=get_grid_figure("task_pair"),
    log:
        "logs/task_pair/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: get_grid_settings(wildcards)
        | {"task_pair": choose_task_pair(SETTINGS, GRIDS[wildcards.grid])},
    script:
        "../workflow_scripts/studies/ranking/task_pair.py"


rule components:
    """Principal components of the scores, of all models and of families."""
    input:
        grid="results/grids/{grid}.parquet",
        release=get_release_source,
    output:
        table=multiext("results/tables/{grid}_components", ".csv", ".md", ".tex"),
        figure=get_grid_figure("components"),
    log:
        "logs/components/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: get_grid_settings(wildcards) | {"seed": SETTINGS.seed},
    script:
        "../workflow_scripts/studies/ranking/components.py"


rule variance:
    """Where the variance of the scores lies, and how many tasks a ranking needs."""
    input:
        grid="results/grids/{grid}.parquet",
        release=get_release_source,
    output:
        table=multiext("results/tables/{grid}_variance", ".csv", ".md", ".tex"),
    log:
        "logs/variance/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=get_grid_settings,
    script:
        "../workflow_scripts/studies/ranking/variance.py"


rule compute:
    """The first component of the scores beside parameters and compute of pre-training."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_compute", ".csv", ".md", ".tex"),
        figure=get_grid_figure("compute"),
    log:
        "logs/compute/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=get_grid_settings,
    script:
        "../workflow_scripts/studies/ranking/compute.py"


rule newer:
    """How much better newer models are than older ones of the same compute."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_newer", ".csv", ".md", ".tex"),
    log:
        "logs/newer/{grid}.log",
    wildcard_constraints:
        grid=match_any(list_grids_with("newer")),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=get_grid_settings,
    script:
        "../workflow_scripts/studies/ranking/newer.py"


rule texts:
    """Bits per byte of texts by model, and whether two texts, or a text and a task, rank models alike."""
    input:
        texts=get_text_sources,
        grid="results/grids/{grid}.parquet",
    output:
        bits=multiext("results/tables/{grid}_bits", ".csv", ".md", ".tex"),
        text_pairs=multiext("results/tables/{grid}_text_pairs", ".csv", ".md", ".tex"),
        text_agreement=multiext("results/tables/{grid}_text_agreement", ".csv", ".md", ".tex"),
    log:
        "logs/texts/{grid}.log",
    wildcard_constraints:
        grid=match_any(GRIDS_WITH_TEXTS),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=get_grid_settings,
    script:
        "../workflow_scripts/studies/ranking/texts.py"


rule releases:
    """How far two releases of the scores are apart."""
    input:
        grid="results/grids/{grid}.parquet",
        release=get_release_source,
    output:
        table=multiext("results/tables/{grid}_releases", ".csv", ".md", ".tex"),
    log:
        "logs/releases/{grid}.log",
    wildcard_constraints:
        grid=match_any(list_grids_with("release")),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=get_grid_settings,
    script:
        "../workflow_scripts/studies/ranking/releases.py"


rule price:
    """How well a part of the trainings ranks the models: tasks chosen, cheapest and random."""
    input:
        grid="results/grids/{grid}.parquet",
        release=get_release_source,
    output:
        table=multiext("results/tables/{grid}_price", ".csv", ".md", ".tex"),
    log:
        "logs/price/{grid}.log",
    wildcard_constraints:
        grid=match_any(list_grids_with("release")),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: get_grid_settings(wildcards)
        | {"training_tokens": count_training_tokens(SETTINGS), "seed": SETTINGS.seed},
    script:
        "../workflow_scripts/studies/ranking/price.py"


rule leaderboard_table:
    """Models ranked by the first principal component, with ranges of ranks."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_leaderboard", ".csv", ".md", ".tex"),
        figure=get_grid_figure("bump"),
    log:
        "logs/leaderboard_table/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=get_bootstrap_settings,
    script:
        "../workflow_scripts/studies/ranking/leaderboard.py"


rule significance:
    """Which models differ, on the mean of the tasks and on each."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_significance", ".csv", ".md", ".tex"),
    log:
        "logs/significance/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=get_grid_settings,
    script:
        "../workflow_scripts/studies/ranking/significance.py"


rule panel:
    """The place of each model on the published leaderboard, or another panel, with an interval."""
    input:
        grid="results/grids/{grid}.parquet",
        panel=SETTINGS.harmony.panel or SETTINGS.resource("published/harmony_leaderboard.csv"),
    output:
        table=multiext("results/tables/{grid}_panel", ".csv", ".md", ".tex"),
    log:
        "logs/panel/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: get_grid_settings(wildcards)
        | {"families": {row.model: row.family for row in list_model_rows(SETTINGS)}},
    script:
        "../workflow_scripts/studies/ranking/panel.py"


rule scores:
    """Scores of the Harmony grid, zero-shot and fine-tuned, beside their baselines."""
    input:
        scores=["results/scores/harmony.parquet"],
        records=RECORDS.get("harmony", []),
        imported=list(SETTINGS.harmony.imported_scores),
    output:
        table=multiext("results/tables/harmony_scores", ".csv", ".md", ".tex"),
        figure=get_grid_figure("scores", "harmony"),
    log:
        "logs/scores.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
        arguments={
            "tasks": [row.model_dump() for row in list_shown_tasks(SETTINGS)],
            "models": list(SETTINGS.harmony.models),
            "known_models": list_grid_models(SETTINGS, OWN_GRID),
            "metrics": METRICS_OF_TASKS,
        },
    script:
        "../workflow_scripts/studies/ranking/scores.py"


rule compare:
    """Say whether one model is better than another (--config compare="A B"), or two folders of lm-eval or lighteval."""
    input:
        grids=[] if COMPARED_FOLDERS else expand("results/grids/{grid}.parquet", grid=OTHERS),
    output:
        table=multiext("results/tables/compare", ".csv", ".md", ".tex"),
        figure=multiext("results/figures/compare", ".pdf", ".png"),
        answer="results/compare.txt",
    log:
        "logs/compare.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments={
            "names": COMPARED,
            "folders": COMPARED_FOLDERS,
            "settings": GRID_SETTINGS,
            "own": OWN_GRID_PRESENT,
            "own_scores": OWN_SCORES_PRESENT,
            "harness_tasks": describe_tasks(SETTINGS),
        },
    script:
        "../workflow_scripts/studies/ranking/compare.py"


# Of every grid, and more where its file or the config has what for.
OF_ANY_GRID = (
    rules.agreement,
    rules.agreement_by_size,
    rules.components,
    rules.variance,
)

OF_OWN_GRID = (
    rules.leaderboard_table,
    *OF_ANY_GRID,
    rules.task_pair,
    rules.significance,
    rules.compute,
    rules.panel,
    rules.scores,
    *([rules.texts] if has_texts(SETTINGS) else []),
)
RANKED = list_outputs(OF_OWN_GRID, OWN) if has_ranked_models(SETTINGS) else []


rule published:
    """Study: the published scores of 61 models on 24 tasks; needs no model, no network and no GPU."""
    input:
        list_results("published"),


rule test_task:
    """Study: published scores of 53 models before and after training for the test, and whether newer ones are better."""
    input:
        list_results("test_task"),


rule harmony:
    """Study: models ranked zero-shot and after fine-tuning on each task, and whether tasks agree."""
    input:
        RECORDS.get("harmony", []),
        RECORDS.get("corpora", []),
        RANKED,
