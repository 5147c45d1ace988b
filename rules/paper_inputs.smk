"""What the report is given: tables and figures that the studies of this config have made."""

from workflow_scripts.planning.made import figures_made, tables_made
from workflow_scripts.settings.mmlu import PUBLISHED


def only_made(tables):
    """Of tables by what a step calls them, those that the config has made."""
    return {name: path for name, path in tables.items() if path in PAPER_TABLES}


# Of the studies that the config has.
PAPER_TABLES = [f"results/tables/{name}.csv" for name in tables_made(SETTINGS)]
PAPER_FIGURES = [f"results/figures/{name}.png" for name in figures_made(SETTINGS)]
PUBLISHED_TABLES = (*dict.fromkeys(PUBLISHED.values()), "prompt_runs", "harmony_leaderboard")
SUMMARY_TABLES = only_made(
    {
        "plans": "results/tables/chunking_plans.csv",
        "mmlu": "results/tables/mmlu_by_subject.csv",
        "stages": "results/tables/training_stages.csv",
        "latency": "results/tables/chunking_latency.csv",
    }
)
REPRODUCED_TABLES = only_made(
    {
        name: f"results/tables/{name}.csv"
        for name in ("mmlu_by_subject", "prompt_runs", "harmony_leaderboard")
    }
)
SUMMARY_MADE = [*table_files("chunking_summary").values()] if SUMMARY_TABLES else []
# Also those that the report's own rules make.
REPORT_TABLES = [
    *PAPER_TABLES,
    *SUMMARY_MADE[:1],
    "results/tables/reproduction.csv",
    "results/tables/cost.csv",
]
REPORT_CAPTIONS = [
    str(path)
    for figure in PAPER_FIGURES
    if (path := Path(workflow.basedir, "docs/captions", f"{Path(figure).stem}.rst")).is_file()
]
