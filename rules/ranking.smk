"""Grids of models, tasks and protocols: what a run measures, and what others released, each table by one rule."""


rule build_grid:
    """A grid as matrices of models and tasks, with what its scores are uncertain by."""
    input:
        unpack(grid_sources),
    output:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    log:
        "logs/build_grid/{grid}.log",
    wildcard_constraints:
        grid=one_of(GRIDS),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: settings_of_grid(
            wildcards,
            known_models=list_grid_models(SETTINGS, GRIDS[wildcards.grid]),
            wanted=list_wanted_cells(SETTINGS, GRIDS[wildcards.grid]),
        ),
    script:
        "../workflow_scripts/studies/ranking/build_grid.py"


rule agreement:
    """Agreement of every two tasks about the models, under each protocol, with intervals and ceilings."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    output:
        table=multiext("results/tables/{grid}_agreement", ".csv", ".md", ".tex"),
        matrices=[
            "results/figures/{grid}_agreement.pdf",
            report(
                "results/figures/{grid}_agreement.png",
                caption="../docs/captions/agreement.rst",
                category="Rankings",
            ),
        ],
        by_task=[
            "results/figures/{grid}_agreement_by_task.pdf",
            report(
                "results/figures/{grid}_agreement_by_task.png",
                caption="../docs/captions/agreement_by_task.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/agreement/{grid}.log",
    wildcard_constraints:
        grid=one_of(GRIDS),
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
        figure=[
            "results/figures/{grid}_agreement_pearson.pdf",
            report(
                "results/figures/{grid}_agreement_pearson.png",
                caption="../docs/captions/agreement_pearson.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/agreement_pearson/{grid}.log",
    wildcard_constraints:
        grid=one_of(GRIDS_WITH_PEARSON),
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
        figure=[
            "results/figures/{grid}_agreement_by_size.pdf",
            report(
                "results/figures/{grid}_agreement_by_size.png",
                caption="../docs/captions/agreement_by_size.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/agreement_by_size/{grid}.log",
    wildcard_constraints:
        grid=one_of(GRIDS),
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
        figure=[
            "results/figures/{grid}_categories.pdf",
            report(
                "results/figures/{grid}_categories.png",
                caption="../docs/captions/categories.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/categories/{grid}.log",
    wildcard_constraints:
        grid=one_of(GRIDS),
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
        figure=[
            "results/figures/{grid}_task_pair.pdf",
            report(
                "results/figures/{grid}_task_pair.png",
                caption="../docs/captions/task_pair.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/task_pair/{grid}.log",
    wildcard_constraints:
        grid=one_of([OWN, *grids_with("pair")]),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: settings_of_grid(
            wildcards, task_pair=choose_task_pair(SETTINGS, GRIDS[wildcards.grid])
        ),
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
        figure=[
            "results/figures/{grid}_components.pdf",
            report(
                "results/figures/{grid}_components.png",
                caption="../docs/captions/components.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/components/{grid}.log",
    wildcard_constraints:
        grid=one_of(GRIDS),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: settings_of_grid(wildcards, seed=SETTINGS.seed),
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
        figure=[
            "results/figures/{grid}_variance.pdf",
            report(
                "results/figures/{grid}_variance.png",
                caption="../docs/captions/variance.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/variance/{grid}.log",
    wildcard_constraints:
        grid=one_of(GRIDS),
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
        figure=[
            "results/figures/{grid}_compute.pdf",
            report(
                "results/figures/{grid}_compute.png",
                caption="../docs/captions/compute.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/compute/{grid}.log",
    wildcard_constraints:
        grid=one_of([OWN, *grids_with("attributes")]),
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
        figure=[
            "results/figures/{grid}_newer.pdf",
            report(
                "results/figures/{grid}_newer.png",
                caption="../docs/captions/newer.rst",
                category="Rankings",
            ),
        ],
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
        figure=[
            "results/figures/{grid}_bits.pdf",
            report(
                "results/figures/{grid}_bits.png",
                caption="../docs/captions/bits.rst",
                category="Rankings",
            ),
        ],
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
        figure=[
            "results/figures/{grid}_text_pairs.pdf",
            report(
                "results/figures/{grid}_text_pairs.png",
                caption="../docs/captions/text_pairs.rst",
                category="Rankings",
            ),
        ],
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
        figure=[
            "results/figures/{grid}_text_agreement.pdf",
            report(
                "results/figures/{grid}_text_agreement.png",
                caption="../docs/captions/text_agreement.rst",
                category="Rankings",
            ),
        ],
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
        figure=[
            "results/figures/{grid}_price.pdf",
            report(
                "results/figures/{grid}_price.png",
                caption="../docs/captions/price.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/price/{grid}.log",
    wildcard_constraints:
        grid=one_of(grids_with("release")),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: settings_of_grid(
            wildcards, training_tokens=count_training_tokens(SETTINGS), seed=SETTINGS.seed
        ),
    script:
        "../workflow_scripts/studies/ranking/price.py"


rule leaderboard_table:
    """Models ranked by the first principal component, with ranges of ranks."""
    input:
        cells="results/grids/{grid}.parquet",
        models="results/grids/{grid}_models.parquet",
    output:
        table=multiext("results/tables/{grid}_leaderboard", ".csv", ".md", ".tex"),
        bump=[
            "results/figures/{grid}_bump.pdf",
            report(
                "results/figures/{grid}_bump.png",
                caption="../docs/captions/bump.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/leaderboard_table/{grid}.log",
    wildcard_constraints:
        grid=one_of([OWN]),
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
    wildcard_constraints:
        grid=one_of([OWN]),
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
        figure=[
            "results/figures/{grid}_panel.pdf",
            report(
                "results/figures/{grid}_panel.png",
                caption="../docs/captions/panel.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/panel/{grid}.log",
    wildcard_constraints:
        grid=one_of([OWN]),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: settings_of_grid(
            wildcards,
            families={one.model: one.family for one in list_known_models(SETTINGS)},
        ),
    script:
        "../workflow_scripts/studies/ranking/panel.py"


rule scores:
    """Scores of the Harmony grid as the models are, beside their floors."""
    input:
        scores=["results/scores/harmony.parquet"],
        imports=list_import_folders(SETTINGS),
        imported=list(SETTINGS.harmony.imported_scores),
    output:
        table=multiext("results/tables/harmony_scores", ".csv", ".md", ".tex"),
        figure=[
            "results/figures/harmony_scores.pdf",
            report(
                "results/figures/harmony_scores.png",
                caption="../docs/captions/scores.rst",
                category="Rankings",
            ),
        ],
    log:
        "logs/scores.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments={
            "tasks": [one.model_dump() for one in list_shown_tasks(SETTINGS)],
            "models": list(SETTINGS.harmony.models),
            "known_models": list_grid_models(SETTINGS, OWN_GRID),
            "metrics": METRICS_OF_TASKS,
        },
    script:
        "../workflow_scripts/studies/ranking/scores.py"


rule separate:
    """Say whether one model is better than another (--config separate="A B")."""
    input:
        grids=[f"results/grids/{grid}{file}.parquet" for grid in OTHERS for file in ("", "_models")],
    output:
        table=multiext("results/tables/separate", ".csv", ".md", ".tex"),
    log:
        "logs/separate.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments={
            "separate": SETTINGS.separate or "",
            "settings": GRID_SETTINGS,
            "own": [
                path
                for path in (f"results/grids/{OWN}.parquet", f"results/grids/{OWN}_models.parquet")
                if Path(path).is_file()
            ],
        },
    script:
        "../workflow_scripts/studies/ranking/separate.py"


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
RANKED = list_outputs(OF_OWN_GRID, OWN) if ranks_models(SETTINGS) else []


rule published:
    """Study: the published scores of 61 models on 24 tasks; needs no model, no network and no GPU."""
    input:
        list_results("published"),


rule test_task:
    """Study: published scores of 53 models before and after training for the test, and whether newer ones are better."""
    input:
        list_results("test_task"),


rule harmony:
    """Study: models ranked on tasks as they are and after training on each, and whether tasks agree."""
    input:
        RECORDS.get("harmony", []),
        RECORDS.get("corpora", []),
        RANKED,
