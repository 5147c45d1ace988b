"""Pieces of work for the hot process to be killed in: the steps of the grid, by the library's own functions.

Each works in the current folder, where `resources` leads to a hub, and writes into `results`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.workflow.grid import GRID
from tests.workflow.snakemake import ROOT
from workflow_scripts.settings.load import Settings, load_settings

MODEL, DATASET = "miniature/Pythia-0.1M", "nyu-mll/glue"
_RECORDS = "results/records/harmony/{}/miniature--Pythia-0.1M/{}.json"


@dataclass(frozen=True)
class Scene:
    name: str
    work: Callable[[], None]
    outputs: tuple[Path, ...]  # declared ones: Snakemake removes them when a job is killed


def scenes() -> list[Scene]:
    settings = _settings()
    return [
        _cells(settings, "direct", ("mnli", "sst2", "rte")),
        _cells(settings, "train_before_test", ("mnli", "rte")),
    ]


def _cells(settings: Settings, protocol: str, tasks: tuple[str, ...]) -> Scene:
    """A job of several cells, as rules/harmony.smk has them."""
    from workflow_scripts.grid.job import run_job
    from workflow_scripts.grid.train_before_test import train_before_test

    records = [Path(_RECORDS.format(protocol, task)) for task in tasks]
    rows = {task: settings.task(task) for task in tasks}
    compute, recipe = settings.compute, settings.harmony.task_recipe(settings.source)
    trained = {
        "measure": train_before_test,
        "keys": recipe.training_keys,
        "protocol": recipe.protocol_keys,
    }

    def work() -> None:
        run_job(
            Path(f"resources/hub/models/{MODEL}/manifest.json"),
            [Path(f"resources/hub/datasets/{DATASET}/manifest.json")],
            records,
            Path("log"),
            version="1",
            tasks={
                name: (row.harness_task, row.full_metric, row.dataset) for name, row in rows.items()
            },
            question={
                "study": "harmony",
                "protocol": protocol,
                "shots": 0,
                "max_items": settings.harmony.max_test_items,
                "seed": settings.seed,
                **compute.model_dump(
                    include={"threads", "device", "dtype", "attention", "batch_size"}
                ),
            },
            **(trained if protocol == "train_before_test" else {}),
        )

    outputs = (*records, *(record.with_suffix(".parquet") for record in records))
    return Scene(f"{protocol}, {len(tasks)} cells", work, outputs)


def _settings() -> Settings:
    merged: dict = {}
    for path in (ROOT / "config/config.yaml", *map(Path, GRID[1:])):
        _update(merged, yaml.safe_load(path.read_text()))
    return load_settings(merged, ROOT)


def _update(config: dict, changes: dict) -> None:
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            _update(config[key], value)
        else:
            config[key] = value
