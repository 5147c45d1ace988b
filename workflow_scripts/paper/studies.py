"""All studies of the report, in the order in which it tells them, and their numbers together."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.paper.cost_sentences import COST
from workflow_scripts.paper.published_sentences import PUBLISHED
from workflow_scripts.paper.run import run_numbers
from workflow_scripts.render.chapter import Tables
from workflow_scripts.render.numbers import Numbers
from workflow_scripts.render.words import limits
from workflow_scripts.studies.chunking import latency, perplexity, plans, pruning, summary
from workflow_scripts.studies.chunking.sentences import CHUNKING
from workflow_scripts.studies.harmony.sentences import HARMONY
from workflow_scripts.studies.mmlu import by_subject
from workflow_scripts.studies.prompts.sentences import PROMPTS
from workflow_scripts.studies.suite.sentences import SUITE
from workflow_scripts.studies.training import stages

STUDIES = (HARMONY, CHUNKING, PROMPTS, SUITE, PUBLISHED, COST)
_DESCRIBED = (plans, perplexity, latency, pruning, summary, stages, by_subject)
TABLES = {module.TABLE.name: module.TABLE for module in _DESCRIBED}


def read_tables(paths: dict[str, Path]) -> Tables:
    """The tables of results/tables by their names, each read by its own columns."""
    return {
        name: TABLES[name].read(path) if name in TABLES else pd.read_csv(path)
        for name, path in paths.items()
    }


def all_numbers(tables: Tables, provenance: dict[str, Any]) -> Numbers:
    """Every number that prose may use, from the tables at hand."""
    numbers = [*limits(), *run_numbers(provenance)]
    for study in STUDIES:
        numbers += study.numbers(tables)
    return Numbers(numbers)
