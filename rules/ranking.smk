"""Analyse grids of models, tasks and protocols, measured by a run or released by others: one rule per table."""

from workflow_scripts.scores.foreign.requests import describe_tasks, list_compared
from workflow_scripts.settings.grids import OWN_GRID
from workflow_scripts.studies.records import has_texts, has_ranked_models
from workflow_scripts.studies.ranking import grid_settings as ranking
from workflow_scripts.studies.ranking.grid_settings import list_model_rows, list_shown_tasks

# The grids in config/grids, keyed by the prefix of their result files; RUN_GRID has the scores of this run.
GRIDS = {grid.files or name: grid for name, grid in SETTINGS.grids.items()}
RUN_GRID = SETTINGS.grids[OWN_GRID].files
IMPORTED_GRIDS = [grid for grid in GRIDS if grid != RUN_GRID]
GRID_SETTINGS = {name: ranking.read_grid_settings(SETTINGS, grid) for name, grid in GRIDS.items()}
GRID_SOURCES = {name: ranking.list_grid_sources(SETTINGS, grid) for name, grid in GRIDS.items()}
BOOTSTRAP = {"num_bootstrap": SETTINGS.harmony.num_bootstrap, "seed": SETTINGS.seed}
COMPARED_NAMES, COMPARED_FOLDERS = list_compared(SETTINGS)


wildcard_constraints:
    grid=match_any(GRIDS),


rule build_grid:
    """Build a grid of scores (models by tasks for each protocol) with standard errors and error covariances."""
    input:
        unpack(lambda wildcards: GRID_SOURCES[wildcards.grid]),
    output:
        grid="results/grids/{grid}.parquet",
    log:
        "logs/build_grid/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=3,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]}
        | {
            "known_models": ranking.list_grid_models(SETTINGS, GRIDS[wildcards.grid]),
            "requested": ranking.list_requested_cells(SETTINGS, GRIDS[wildcards.grid]),
        },
    script:
        "../workflow_scripts/studies/ranking/build_grid.py"


rule agreement:
    """Compute the rank agreement (Kendall's tau-b) of task pairs and task categories, with CIs and ceilings."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_agreement", ".csv", ".md", ".tex"),
        figure=get_figure_files("{grid}_agreement", "Rankings"),
        categories=multiext("results/tables/{grid}_categories", ".csv", ".md", ".tex"),
        categories_figure=get_figure_files("{grid}_categories", "Rankings"),
    log:
        "logs/agreement/{grid}.log",
    priority: 1  # the longest of its grid
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]} | BOOTSTRAP,
    script:
        "../workflow_scripts/studies/ranking/agreement.py"


rule agreement_by_size:
    """Compare the rank agreement of task pairs over all models with the agreement within bands of model size."""
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
        version=2,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]} | BOOTSTRAP,
    script:
        "../workflow_scripts/studies/ranking/agreement_by_size.py"


rule task_pair:
    """Compare the model ranks of two tasks, counting only significant differences."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_task_pair", ".csv", ".md", ".tex"),
        figure=get_figure_files("{grid}_task_pair", "Rankings"),
    log:
        "logs/task_pair/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]}
        | {"task_pair": ranking.choose_task_pair(SETTINGS, GRIDS[wildcards.grid])},
    script:
        "../workflow_scripts/studies/ranking/task_pair.py"


rule components:
    """Compute principal components of the scores, over all models and within families."""
    input:
        grid="results/grids/{grid}.parquet",
        release=lambda wildcards: GRID_SOURCES[wildcards.grid].get("release", []),
    output:
        table=multiext("results/tables/{grid}_components", ".csv", ".md", ".tex"),
        figure=get_figure_files("{grid}_components", "Rankings"),
    log:
        "logs/components/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]}
        | {"seed": SETTINGS.seed},
    script:
        "../workflow_scripts/studies/ranking/components.py"


rule variance:
    """Decompose the variance of scores, and compute how many tasks a reliable ranking needs."""
    input:
        grid="results/grids/{grid}.parquet",
        release=lambda wildcards: GRID_SOURCES[wildcards.grid].get("release", []),
    output:
        table=multiext("results/tables/{grid}_variance", ".csv", ".md", ".tex"),
    log:
        "logs/variance/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]},
    script:
        "../workflow_scripts/studies/ranking/variance.py"


rule compute:
    """Relate the first principal component of the scores to parameters and pre-training compute."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_compute", ".csv", ".md", ".tex"),
        figure=get_figure_files("{grid}_compute", "Rankings"),
    log:
        "logs/compute/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]},
    script:
        "../workflow_scripts/studies/ranking/compute.py"


rule newer:
    """Estimate how much better newer models score than older models of the same compute."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_newer", ".csv", ".md", ".tex"),
    log:
        "logs/newer/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]},
    script:
        "../workflow_scripts/studies/ranking/newer.py"


rule texts:
    """Tabulate bits per byte of texts by model, and the rank agreement of texts and tasks."""
    input:
        texts=lambda wildcards: (
            ["results/scores/corpora.parquet"]
            if wildcards.grid == RUN_GRID
            else GRID_SOURCES[wildcards.grid]["scores"]
        ),
        grid="results/grids/{grid}.parquet",
    output:
        bits=multiext("results/tables/{grid}_bits", ".csv", ".md", ".tex"),
        text_agreement=multiext("results/tables/{grid}_text_agreement", ".csv", ".md", ".tex"),
    log:
        "logs/texts/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]},
    script:
        "../workflow_scripts/studies/ranking/texts.py"


rule releases:
    """Measure how much two releases of the same scores differ."""
    input:
        grid="results/grids/{grid}.parquet",
        release=lambda wildcards: GRID_SOURCES[wildcards.grid].get("release", []),
    output:
        table=multiext("results/tables/{grid}_releases", ".csv", ".md", ".tex"),
    log:
        "logs/releases/{grid}.log",
    wildcard_constraints:
        grid=match_any(name for name in IMPORTED_GRIDS if GRIDS[name].release),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]},
    script:
        "../workflow_scripts/studies/ranking/releases.py"


rule price:
    """Measure how well fine-tuning on the tasks selected for a budget ranks the models."""
    input:
        grid="results/grids/{grid}.parquet",
        release=lambda wildcards: GRID_SOURCES[wildcards.grid].get("release", []),
    output:
        table=multiext("results/tables/{grid}_price", ".csv", ".md", ".tex"),
    log:
        "logs/price/{grid}.log",
    wildcard_constraints:
        grid=match_any(name for name in IMPORTED_GRIDS if GRIDS[name].release),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]}
        | {"training_tokens": ranking.count_training_tokens(SETTINGS)},
    script:
        "../workflow_scripts/studies/ranking/price.py"


rule leaderboard_table:
    """Rank models by the first principal component of their scores, with rank intervals."""
    input:
        grid="results/grids/{grid}.parquet",
    output:
        table=multiext("results/tables/{grid}_leaderboard", ".csv", ".md", ".tex"),
        figure=get_figure_files("{grid}_bump", "Rankings"),
    log:
        "logs/leaderboard_table/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=3,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]} | BOOTSTRAP,
    script:
        "../workflow_scripts/studies/ranking/leaderboard.py"


rule significance:
    """Test which models differ significantly, on each task and on the mean of tasks."""
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
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]},
    script:
        "../workflow_scripts/studies/ranking/significance.py"


rule panel:
    """Predict each model's rank on the published leaderboard, or on another panel, with an interval."""
    input:
        grid="results/grids/{grid}.parquet",
        panel=SETTINGS.harmony.panel or SETTINGS.find_resource("published/harmony_leaderboard.csv"),
    output:
        table=multiext("results/tables/{grid}_panel", ".csv", ".md", ".tex"),
    log:
        "logs/panel/{grid}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=3,
        arguments=lambda wildcards: {"settings": GRID_SETTINGS[wildcards.grid]}
        | {"families": {row["model"]: row["family"] for row in list_model_rows(SETTINGS)}},
    script:
        "../workflow_scripts/studies/ranking/panel.py"


rule scores:
    """Tabulate and plot the scores of the Harmony grid, zero-shot and fine-tuned, with baselines."""
    input:
        scores=["results/scores/harmony.parquet"],
        records=RECORDS.get("harmony", []),
        imported=list(SETTINGS.harmony.imported_scores),
    output:
        table=multiext("results/tables/harmony_scores", ".csv", ".md", ".tex"),
        figure=get_figure_files("harmony_scores", "Rankings"),
    log:
        "logs/scores.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
        arguments={
            "settings": GRID_SETTINGS[RUN_GRID],
            "tasks": [row["task"] for row in list_shown_tasks(SETTINGS)],
            "models": list(SETTINGS.harmony.models),
            "known_models": ranking.list_grid_models(SETTINGS, GRIDS[RUN_GRID]),
        },
    script:
        "../workflow_scripts/studies/ranking/scores.py"


rule compare:
    """Test whether model A is better than model B (--config compare="A B"); also folders of lm-eval or lighteval."""
    input:
        grids=(
            [] if COMPARED_FOLDERS else expand("results/grids/{grid}.parquet", grid=IMPORTED_GRIDS)
        ),
    output:
        table=multiext("results/tables/compare", ".csv", ".md", ".tex"),
        answer="results/compare.txt",
    log:
        "logs/compare.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments={
            "names": COMPARED_NAMES,
            "folders": COMPARED_FOLDERS,
            "settings": GRID_SETTINGS,
            # `compare` uses this file if it exists; it does not build it.
            "own": [str(path) for path in Path("results/grids").glob(f"{RUN_GRID}.parquet")],
            "harness_tasks": describe_tasks(SETTINGS),
        },
    script:
        "../workflow_scripts/studies/ranking/compare.py"


# The tables of every grid, and those of imported grids by the key that their file in config/grids must have.
COMMON_TABLES = (rules.agreement, rules.agreement_by_size, rules.components, rules.variance)
OPTIONAL_TABLES = {
    "attributes": [rules.compute],
    "newer": [rules.newer],
    "pair": [rules.task_pair],
    "release": [rules.releases, rules.price],
    "texts": [rules.texts],
}
RUN_GRID_TABLES = (
    rules.leaderboard_table,
    *COMMON_TABLES,
    rules.task_pair,
    rules.significance,
    rules.compute,
    rules.panel,
    rules.scores,
    *([rules.texts] if has_texts(SETTINGS) else []),
)
RUN_GRID_FILES = (
    ranking.list_outputs(RUN_GRID_TABLES, RUN_GRID) if has_ranked_models(SETTINGS) else []
)
IMPORTED_GRID_FILES = {}
for grid in IMPORTED_GRIDS:
    tables = list(COMMON_TABLES)
    for key, optional_tables in OPTIONAL_TABLES.items():
        if getattr(GRIDS[grid], key):
            tables += optional_tables
    IMPORTED_GRID_FILES[grid] = ranking.list_outputs(tables, grid)


rule published:
    """Study: analyse the published scores of 61 models on 24 tasks; needs no model, network or GPU."""
    input:
        IMPORTED_GRID_FILES["published"],


rule test_task:
    """Study: compare 53 older and newer models by published scores, before and after training on the test task."""
    input:
        IMPORTED_GRID_FILES["test_task"],


rule harmony:
    """Study: rank models zero-shot and after fine-tuning on each task, and measure the agreement of tasks."""
    input:
        RECORDS.get("harmony", []),
        RECORDS.get("corpora", []),
        RUN_GRID_FILES,
