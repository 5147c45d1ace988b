"""The leaderboard: one page with a tab for each study that the config has; `snakemake leaderboard`."""

# By tab, what it is made from; a study that is not part of the config has none.
BOARD_INPUTS = {
    "suite": {"tab": rules.board_suite.output.tab} if "suite" in RECORDS else {},
    "harmony": (
        {
            "leaderboard": rules.table_harmony_leaderboard.output.csv,
            "components": rules.table_harmony_components.output.csv,
            "scores": "results/scores/harmony.parquet",
        }
        if HARMONY_MODELS
        else {}
    ),
    "prompts": (
        {
            "runs": rules.table_prompt_runs.output.csv,
            "by_subject": rules.table_prompt_runs_by_subject.output.csv,
            "records": RECORDS["prompts"],
        }
        if PROMPT_CHECKPOINTS
        else {}
    ),
    "chunked": (
        {
            "plans": [rules.table_chunking_plans.output.csv] if CHECKPOINTS else [],
            "stages": [rules.table_training_stages.output.csv] if TRAINED else [],
            "mmlu": [rules.table_mmlu_by_subject.output.csv] if MMLU_CHECKPOINTS else [],
        }
        if CHECKPOINTS or TRAINED or MMLU_CHECKPOINTS
        else {}
    ),
}


rule leaderboard_page:
    """Write the leaderboard's page, one file for a browser."""
    input:
        **{
            f"{tab}_{name}": made
            for tab, files in BOARD_INPUTS.items()
            for name, made in files.items()
        },
    output:
        page="results/report/leaderboard.html",
    log:
        "logs/leaderboard_page.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="leaderboard_page 1",
        settings={
            "tabs": {tab: list(files) for tab, files in BOARD_INPUTS.items() if files},
            "source": SETTINGS.source,
            "seed": SETTINGS.seed,
            "tasks": rows_of_tasks(SETTINGS.harmony.tasks),
        },
    script:
        "../workflow_scripts/steps/leaderboard_page.py"


rule leaderboard:
    """The leaderboard as a page, a tab for each study."""
    input:
        rules.leaderboard_page.output if any(BOARD_INPUTS.values()) else [],
