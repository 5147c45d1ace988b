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
SUMMARY_MADE = (
    expand("results/tables/chunking_summary.{kind}", kind=["csv", "md", "tex"])
    if SUMMARY_TABLES
    else []
)
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
SUMMARY_ROWS = [
    {
        "id": str(checkpoint),
        **SETTINGS.model(checkpoint.model).model_dump(include={"parameters", "layers"}),
    }
    for checkpoint in SETTINGS.staged_checkpoints()
]


def comparable_settings():
    """What decides whether a published number can be compared with ours, by study."""
    differs = SETTINGS.training.unpublished(SETTINGS.source)
    return {
        "mmlu": {
            "source": SETTINGS.source,
            **SETTINGS.mmlu.model_dump(include={"shots", "max_items_per_subject"}),
            "checkpoints": {table: name for name, table in MMLU_PUBLISHED.items() if table},
            "recipes": {
                str(checkpoint): differs[stage]
                for checkpoint in SETTINGS.staged_checkpoints()
                for stage in checkpoint.stages
                if stage in differs
            },
        },
        "prompts": {
            "source": SETTINGS.source,
            **SETTINGS.prompts.model_dump(include={"max_items_per_subject"}),
            "checkpoint": next((row["id"] for row in PROMPT_ROWS if row["published"]), None),
            "runs": {
                run.published: name for name, run in SETTINGS.prompt_runs.items() if run.published
            },
        },
        "harmony": {
            "source": SETTINGS.source,
            "differs": SETTINGS.harmony.differs_from_published(SETTINGS.source),
        },
    }


def shown_config():
    """The config as it was read, without the rows of its tables."""
    return SETTINGS.model_dump(mode="json", exclude={"models", "tasks", "prompt_runs", "explain"})
