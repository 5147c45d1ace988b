"""Generate a fake Harmony study: one ability per model, with more noise zero-shot than after training."""

from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd

from tests.records import make_scores
from tests.unit.settings.merged import load
from workflow_scripts.studies.ranking import (
    agreement,
    agreement_by_size,
    components,
    compute,
    leaderboard,
    panel,
    significance,
    task_pair,
    variance,
)
from workflow_scripts.studies.ranking.build_grid import build_table
from workflow_scripts.studies.ranking.grid import Grid, split_table
from workflow_scripts.studies.ranking.grid_settings import (
    GridSettings,
    list_model_rows,
    list_shown_tasks,
    read_grid_settings,
)

ROOT = Path(__file__).parents[4]
LEADERBOARD = ROOT / "resources/published/harmony_leaderboard.csv"
CONFIG = load({"harmony": {"models": []}})
MODEL_ROWS, TASK_ROWS = list_model_rows(CONFIG), list_shown_tasks(CONFIG)
MODEL_TABLE = pd.DataFrame(MODEL_ROWS).set_index("model")
SETTINGS = GridSettings.model_validate(read_grid_settings(CONFIG, CONFIG.grids["own"]))
METRICS, PROTOCOLS = SETTINGS.metrics, SETTINGS.protocol_names
MODELS = [
    "miniature/Qwen2-0.2M",
    "miniature/Qwen2-1M",
    "miniature/Qwen2-1M-Instruct",
    "miniature/Qwen2-1M-Instruct@k2m12",
    "miniature/Llama-0.3M",
    "miniature/Llama-1.4M",
]
TASKS = ["cola", "mnli", "rte", "arc_easy", "gsm8k"]
BOTH = ("direct", "train_before_test")
RUN_GRID_SCRIPTS = (
    agreement,
    agreement_by_size,
    components,
    compute,
    leaderboard,
    panel,
    significance,
    task_pair,
    variance,
)


def build_grids(
    scores: pd.DataFrame, imported=(), protocols=BOTH, models=MODELS, tasks=TASKS, measured=None
) -> dict[str, Grid]:
    scores = pd.concat([scores, *imported], ignore_index=True)
    requested = {name: {"models": models, "tasks": tasks} for name in protocols}
    return split_table(build_table(scores, SETTINGS, requested, MODEL_TABLE, {}, measured))


def make_score(model: str, task: str, protocol: str, value: float, **other) -> dict:
    name, mark, variant = model.partition("@")
    return {
        "study": "harmony",
        "model": name,
        "variant": mark + variant,
        "task": task,
        "seed": 0,
        "protocol": protocol,
        "shots": 0,
        "metric": METRICS[task],
        "value": value,
        "n": 400,
        "stderr": np.sqrt(value * (1 - value) / 400),
    } | other


def make_study(protocols=BOTH, models=MODELS) -> pd.DataFrame:
    generator, rows = np.random.default_rng(0), []
    for protocol in protocols:
        noise = 0.02 if protocol == "train_before_test" else 0.15
        for rank, model in enumerate(models):
            for task in TASKS:
                value = 0.3 + 0.5 * rank / len(models) + noise * generator.standard_normal()
                rows.append(make_score(model, task, protocol, float(np.clip(value, 0.02, 0.98))))
    return make_scores(rows)


def drop_cell(scores: pd.DataFrame, model: str, task: str, protocol: str) -> pd.DataFrame:
    """Leave out one cell of the study."""
    name = scores["model"] + scores["variant"]
    return scores[(name != model) | (scores["task"] != task) | (scores["protocol"] != protocol)]


def run_script(module, folder: Path, arguments: dict) -> None:
    """Run a script; its outputs in `folder` are named after the script or the argument."""
    main, name = module.main, module.__name__.rpartition(".")[2]
    for key in signature(main).parameters.keys() - arguments.keys():
        stem = {"table": name, "figure": f"{name}_figure"}.get(key, key)
        kinds = ("pdf", "png") if "figure" in key else ("csv", "md", "tex")
        arguments = arguments | {key: [folder / f"{stem}.{kind}" for kind in kinds]}
    main(**{key: arguments[key] for key in signature(main).parameters})


def run_all(grid: Path, folder: Path) -> None:
    """Make the tables and figures of a grid as the rules do."""
    arguments = {
        "grid": grid,
        "settings": SETTINGS.model_dump(mode="json"),
        "num_bootstrap": 10,
        "seed": 0,
        "panel": LEADERBOARD,
        "release": None,
        "task_pair": ["rte", "mnli"],
        "families": MODEL_TABLE["family"].to_dict(),
    }
    for module in RUN_GRID_SCRIPTS:
        run_script(module, folder, arguments)
