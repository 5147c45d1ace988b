"""What the report is given: tables and figures that the studies of this config have made."""

from workflow_scripts.settings.mmlu import PUBLISHED


def only_made(tables):
    """Of tables by what a step calls them, those that the config has made."""
    return {name: path for name, path in tables.items() if path in PAPER_TABLES}


def prose_files(ending):
    """Files beside the Snakefile that people edit: an edited sentence is told without being asked for."""
    return sorted(map(str, Path(workflow.basedir).glob(f"workflow_scripts/*/*/*{ending}")))


# Of the studies that the config has.
PAPER_TABLES = sorted(path for path in made_of(*TABLES) if path.endswith(".csv"))
PAPER_FIGURES = sorted(path for path in made_of(*FIGURES) if path.endswith(".png"))
PUBLISHED_GRID = ("harmony_leaderboard", "harmony_cells")
PUBLISHED_TABLES = (*dict.fromkeys(PUBLISHED.values()), "prompt_runs", *PUBLISHED_GRID)
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
# The records behind what has a published number.
MEASURED_PUBLISHED = {study: RECORDS.get(study, []) for study in ("harmony", "mmlu", "prompts")}
MEASURED_PUBLISHED["trainings"] = [f"results/training/{name}.json" for name in TRAINED]
SUMMARY_MADE = [*table_files("chunking_summary").values()] if SUMMARY_TABLES else []
# Also those that the report's own rules make.
REPORT_TABLES = [
    *PAPER_TABLES,
    *SUMMARY_MADE[:1],
    "results/tables/reproduction.csv",
    "results/tables/reproduction_by_task.csv",
    "results/tables/protocol_differences.csv",
    "results/tables/cost.csv",
]
REPORT_CAPTIONS = [
    str(path)
    for figure in PAPER_FIGURES
    if (path := Path(workflow.basedir, "docs/captions", f"{Path(figure).stem}.rst")).is_file()
]


def tables_told():
    """What describes each table of the report, and what it was asked: as its rule has it."""
    names = [Path(table).stem for table in REPORT_TABLES]
    params = {name: getattr(rules, f"table_{name}").params for name in names}
    return {name: {"table": of.table, "request": of.request} for name, of in params.items()}
