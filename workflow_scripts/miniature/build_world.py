"""Build the hub folder of the demo: generated datasets and the shipped models."""

from pathlib import Path

from workflow_scripts.bridge.job import run_job
from workflow_scripts.miniature.catalogue import MODELS, TABLES
from workflow_scripts.miniature.datasets import chat, corpora, everyday, inference, knowledge, mmlu
from workflow_scripts.miniature.shipped import copy_model
from workflow_scripts.miniature.tables import Repository, draw_table, write_repository


def build_world(hub: Path, items: int) -> None:
    """Write datasets and models into the hub folder; `items` is the number of test questions per task."""
    makers = vars(inference) | vars(everyday) | vars(knowledge)
    repositories: dict[str, Repository] = {
        name: {
            config: draw_table(table, makers[table["make"]], items)
            for config, table in configs.items()
            if "make" in table
        }
        for name, configs in TABLES.items()
    }
    for module in (chat, corpora, mmlu):
        repositories |= module.build(items)
    for name, configs in repositories.items():
        write_repository(hub, name, configs)
    for name in MODELS:
        copy_model(hub, name)


if "snakemake" in globals():
    run_job(build_world, snakemake)
