"""What the report is given: tables and figures that the studies of this config have made."""

from workflow_scripts.core.tex_engine import find_engine
from workflow_scripts.settings.mmlu import PUBLISHED

# Whatever the target of one of these asks for is in the report; a study that this workflow has not, is not.
PAPER_STUDIES = ("harmony", "chunking", "training", "mmlu", "prompts", "suite")


def made_by_studies(folder, suffix):
    """What their targets ask for of these files, sorted."""
    targets = [rule for rule in workflow.rules if rule.name in PAPER_STUDIES]
    paths = {str(path) for rule in targets for path in rule.input}
    return sorted(path for path in paths if path.startswith(folder) and path.endswith(suffix))


def made_somewhere(path):
    """The path in a list, where some rule of this workflow makes it, and else an empty list."""
    return [path] if any(path in map(str, rule.output) for rule in workflow.rules) else []


def only_made(tables):
    """Of tables by what a step calls them, those that the config has made."""
    return {name: path for name, path in tables.items() if path in PAPER_TABLES}


PAPER_TABLES = made_by_studies("results/tables/", ".csv")
PAPER_FIGURES = made_by_studies("results/figures/", ".png")
PUBLISHED_TABLES = (*dict.fromkeys(PUBLISHED.values()), "prompt_runs", "harmony_leaderboard")
COSTS = made_somewhere("results/tables/cost.csv")
LEADERBOARD_PAGE = made_somewhere("results/report/leaderboard.html")
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
REPORT_TABLES = [*PAPER_TABLES, *SUMMARY_MADE[:1], "results/tables/reproduction.csv", *COSTS]
REPORT_CAPTIONS = [
    str(path)
    for figure in PAPER_FIGURES
    if (path := Path(workflow.basedir, "docs/captions", f"{Path(figure).stem}.rst")).is_file()
]
