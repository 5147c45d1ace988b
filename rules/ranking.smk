"""Grids of models, tasks and protocols: what a run measures, and what others released, each table by one rule."""


include: "ranking_inputs.smk"


rule build_grid:
    """A grid as matrices of models and tasks, with what its scores are uncertain by."""
    input:
        unpack(grid_sources),
    output:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    log:
        "logs/build_grid/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: settings_of_grid(wildcards)
        | {
            "known_models": list_grid_models(SETTINGS, GRIDS[wildcards.grid]),
            "wanted": list_requested_cells(SETTINGS, GRIDS[wildcards.grid]),
        },
    script:
        "../workflow_scripts/studies/ranking/build_grid.py"


rule agreement:
    """Agreement of every two tasks about the models, under each protocol, with intervals and ceilings."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    output:
        table=multiext("results/tables/{grid}_agreement", ".csv", ".md", ".tex"),
        figure=figure_files("agreement"),
    log:
        "logs/agreement/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=drawn_settings,
    script:
        "../workflow_scripts/studies/ranking/agreement.py"


rule agreement_pearson:
    """The same agreement as Pearson's correlation of the scores, as the authors of a grid show it."""
    input:
        agreement="results/tables/{grid}_agreement.csv",
    output:
        figure=figure_files("agreement_pearson"),
    log:
        "logs/agreement_pearson/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=settings_of_grid,
    script:
        "../workflow_scripts/studies/ranking/agreement_pearson.py"


rule agreement_by_size:
    """That agreement among models of like size, where size ranks nothing."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    output:
        table=multiext("results/tables/{grid}_agreement_by_size", ".csv", ".md", ".tex"),
    log:
        "logs/agreement_by_size/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=drawn_settings,
    script:
        "../workflow_scripts/studies/ranking/agreement_by_size.py"


rule categories:
    """That agreement by category."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    output:
        table=multiext("results/tables/{grid}_categories", ".csv", ".md", ".tex"),
        figure=figure_files("categories"),
    log:
        "logs/categories/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=settings_of_grid,
    script:
        "../workflow_scripts/studies/ranking/categories.py"


rule task_pair:
    """Two tasks side by side, ranks by significant differences."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    output:
        table=multiext("results/tables/{grid}_task_pair", ".csv", ".md", ".tex"),
        figure=figure_files("task_pair"),
    log:
        "logs/task_pair/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: settings_of_grid(wildcards)
        | {"task_pair": choose_task_pair(SETTINGS, GRIDS[wildcards.grid])},
    script:
        "../workflow_scripts/studies/ranking/task_pair.py"


rule components:
    """Principal components of the scores, of all models and of families."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
        release=release_source,
    output:
        table=multiext("results/tables/{grid}_components", ".csv", ".md", ".tex"),
        figure=figure_files("components"),
    log:
        "logs/components/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: settings_of_grid(wildcards) | {"seed": SETTINGS.seed},
    script:
        "../workflow_scripts/studies/ranking/components.py"


rule variance:
    """Where the variance of the scores lies, and how many tasks a ranking needs."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
        release=release_source,
    output:
        table=multiext("results/tables/{grid}_variance", ".csv", ".md", ".tex"),
    log:
        "logs/variance/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=settings_of_grid,
    script:
        "../workflow_scripts/studies/ranking/variance.py"


rule compute:
    """The first component of the scores beside parameters and compute of pre-training."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    output:
        table=multiext("results/tables/{grid}_compute", ".csv", ".md", ".tex"),
        figure=figure_files("compute"),
    log:
        "logs/compute/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=settings_of_grid,
    script:
        "../workflow_scripts/studies/ranking/compute.py"


rule newer:
    """How much better newer models are than older ones of the same compute."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    output:
        table=multiext("results/tables/{grid}_newer", ".csv", ".md", ".tex"),
        figure=figure_files("newer"),
    log:
        "logs/newer/{grid}.log",
    wildcard_constraints:
        grid=one_of(grids_with("newer")),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=settings_of_grid,
    script:
        "../workflow_scripts/studies/ranking/newer.py"


rule bits:
    """Bits per byte of each text, by model."""
    input:
        texts=text_sources,
    output:
        table=multiext("results/tables/{grid}_bits", ".csv", ".md", ".tex"),
    log:
        "logs/bits/{grid}.log",
    wildcard_constraints:
        grid=one_of(GRIDS_WITH_TEXTS),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=settings_of_grid,
    script:
        "../workflow_scripts/studies/ranking/bits.py"


rule text_pairs:
    """Agreement of every two texts about the models."""
    input:
        texts=text_sources,
    output:
        table=multiext("results/tables/{grid}_text_pairs", ".csv", ".md", ".tex"),
        figure=figure_files("text_pairs"),
    log:
        "logs/text_pairs/{grid}.log",
    wildcard_constraints:
        grid=one_of(GRIDS_WITH_TEXTS),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=settings_of_grid,
    script:
        "../workflow_scripts/studies/ranking/text_pairs.py"


rule text_agreement:
    """Whether bits per byte of texts rank models as tasks do."""
    input:
        texts=text_sources,
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    output:
        table=multiext("results/tables/{grid}_text_agreement", ".csv", ".md", ".tex"),
        figure=figure_files("text_agreement"),
    log:
        "logs/text_agreement/{grid}.log",
    wildcard_constraints:
        grid=one_of(GRIDS_WITH_TEXTS),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=settings_of_grid,
    script:
        "../workflow_scripts/studies/ranking/text_agreement.py"


rule releases:
    """How far two releases of the scores are apart."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
        release=release_source,
    output:
        table=multiext("results/tables/{grid}_releases", ".csv", ".md", ".tex"),
    log:
        "logs/releases/{grid}.log",
    wildcard_constraints:
        grid=one_of(grids_with("release")),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=settings_of_grid,
    script:
        "../workflow_scripts/studies/ranking/releases.py"


rule price:
    """How well a part of the trainings ranks the models: tasks chosen, cheapest and random."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
        release=release_source,
    output:
        table=multiext("results/tables/{grid}_price", ".csv", ".md", ".tex"),
    log:
        "logs/price/{grid}.log",
    wildcard_constraints:
        grid=one_of(grids_with("release")),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: settings_of_grid(wildcards)
        | {"training_tokens": count_training_tokens(SETTINGS), "seed": SETTINGS.seed},
    script:
        "../workflow_scripts/studies/ranking/price.py"


rule leaderboard_table:
    """Models ranked by the first principal component, with ranges of ranks."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    output:
        table=multiext("results/tables/{grid}_leaderboard", ".csv", ".md", ".tex"),
        figure=figure_files("bump"),
    log:
        "logs/leaderboard_table/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=drawn_settings,
    script:
        "../workflow_scripts/studies/ranking/leaderboard.py"


rule significance:
    """Which models differ, on the mean of the tasks and on each."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    output:
        table=multiext("results/tables/{grid}_significance", ".csv", ".md", ".tex"),
    log:
        "logs/significance/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=settings_of_grid,
    script:
        "../workflow_scripts/studies/ranking/significance.py"


rule panel:
    """The place of each model on the published leaderboard, or another panel, with an interval."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
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
        arguments=lambda wildcards: settings_of_grid(wildcards)
        | {"families": {one.model: one.family for one in list_model_rows(SETTINGS)}},
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
        figure=figure_files("scores", "harmony"),
    log:
        "logs/scores.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
        arguments={
            "tasks": [one.model_dump() for one in list_shown_tasks(SETTINGS)],
            "models": list(SETTINGS.harmony.models),
            "known_models": list_grid_models(SETTINGS, OWN_GRID),
            "metrics": METRICS_OF_TASKS,
        },
    script:
        "../workflow_scripts/studies/ranking/scores.py"


rule compare:
    """Say whether one model is better than another (--config compare="A B"), or two folders of lm-eval or lighteval."""
    input:
        grids=[
            f"results/grids/{grid}{file}.parquet"
            for grid in OTHERS
            for file in ("", "_models")
            if not COMPARED_FOLDERS
        ],
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
            "own": list_present(
                f"results/grids/{OWN}.parquet", f"results/grids/{OWN}_models.parquet"
            ),
            "own_scores": list_present("results/scores/harmony.parquet"),
            "harness_tasks": describe_tasks(SETTINGS),
        },
    script:
        "../workflow_scripts/studies/ranking/compare.py"


# Of every grid, and more where its file or the config has what for.
OF_ANY_GRID = (
    rules.agreement,
    rules.agreement_by_size,
    rules.categories,
    rules.components,
    rules.variance,
)
OF_TEXTS = (rules.bits, rules.text_pairs, rules.text_agreement)


OF_OWN_GRID = (
    rules.leaderboard_table,
    *OF_ANY_GRID,
    rules.task_pair,
    rules.significance,
    rules.compute,
    rules.panel,
    rules.scores,
    *(OF_TEXTS if has_texts(SETTINGS) else ()),
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
