"""All tables of the report by name, each described by a module of its study, which is read when it is needed."""

from importlib import import_module
from pathlib import Path

import pandas as pd

from workflow_scripts.render.tables import Table

_MODULES = {
    "harmony_agreement": "studies.harmony.agreement",
    "harmony_components": "studies.harmony.components",
    "harmony_leaderboard": "studies.harmony.leaderboard",
    "harmony_panel": "studies.harmony.panel",
    "harmony_perplexity": "studies.harmony.perplexity",
    "harmony_scores": "studies.harmony.scores",
    "harmony_significance": "studies.harmony.significance",
    "chunking_latency": "studies.chunking.latency",
    "chunking_perplexity": "studies.chunking.perplexity",
    "chunking_plans": "studies.chunking.plans",
    "chunking_pruning": "studies.chunking.pruning",
    "chunking_summary": "studies.chunking.summary",
    "training_stages": "studies.training.stages",
    "mmlu_by_subject": "studies.mmlu.by_subject",
    "prompt_runs": "studies.prompts.runs",
    "prompt_runs_by_subject": "studies.prompts.by_subject",
    "suite_checks": "studies.suite.checks",
    "suite_leaderboard": "studies.suite.leaderboard",
    "suite_requests": "studies.suite.requests_table",
    "reproduction": "paper.reproduction",
    "cost": "paper.cost",
}


def table_of(name: str) -> Table:
    return import_module(f"workflow_scripts.{_MODULES[name]}").TABLE


def read_table(csv: Path) -> pd.DataFrame:
    return table_of(csv.stem).read(csv)
