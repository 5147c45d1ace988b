"""The leaderboard: one page with a tab for each study that the config has; `snakemake leaderboard`."""

from workflow_scripts.settings.paper import leaderboard_page

# By tab, what it is made from; a study that is not part of the config has none.
BOARD_INPUTS = {
    "suite": {"tab": "results/report/tabs/suite.json"} if "suite" in RECORDS else {},
    "harmony": (
        {
            "leaderboard": "results/tables/harmony_leaderboard.csv",
            "components": "results/tables/harmony_components.csv",
            "scores": "results/scores/harmony.parquet",
        }
        if "harmony" in TABLES
        else {}
    ),
    "prompts": (
        {
            "runs": "results/tables/prompt_runs.csv",
            "by_subject": "results/tables/prompt_runs_by_subject.csv",
            "records": RECORDS["prompts"],
        }
        if "prompts" in RECORDS
        else {}
    ),
    "chunked": (
        {
            "plans": ["results/tables/chunking_plans.csv"] if CHECKPOINTS else [],
            "stages": ["results/tables/training_stages.csv"] if TRAINED else [],
            "mmlu": ["results/tables/mmlu_by_subject.csv"] if "mmlu" in RECORDS else [],
        }
        if CHECKPOINTS or TRAINED or "mmlu" in RECORDS
        else {}
    ),
}


use rule files from makers as leaderboard_page with:
    """The leaderboard's page, a tab for each study of the config."""
    input:
        **{
            f"{tab}_{name}": made
            for tab, files in BOARD_INPUTS.items()
            for name, made in files.items()
        },
        citations=resource_file("citations.tsv"),
    output:
        page="results/report/leaderboard.html",
    log:
        "logs/leaderboard_page.log",
    localrule: True
    params:
        function="paper.leaderboard.write_leaderboard",
        version=2,  # how to cite it
        request=leaderboard_page(
            SETTINGS, measures=any(RECORDS.values()) or "suite" in RECORDS
        ).as_params(),


rule leaderboard:
    """The leaderboard: one page for a browser, results/report/leaderboard.html."""
    input:
        rules.leaderboard_page.output if any(BOARD_INPUTS.values()) else [],
