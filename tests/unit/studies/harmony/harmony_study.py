"""A made-up Harmony study for tests: one ability per model, noisier directly than after training."""

from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.scores.columns import COLUMNS
from workflow_scripts.settings.grids import read_grid_files
from workflow_scripts.settings.tables import read_models, read_tasks
from workflow_scripts.studies.ranking.errors import KnownErrors
from workflow_scripts.studies.ranking.grid import Grid, make_grids
from workflow_scripts.studies.ranking.requests import (
    GridWords,
    RankingRequest,
    Wanted,
    ranked_models,
    ranked_tasks,
)

ROOT = Path(__file__).parents[4]
LEADERBOARD = ROOT / "resources/published/harmony_leaderboard.csv"
_TASKS = read_tasks(ROOT / "config/tasks.tsv")
METRICS = {name: row.full_metric for name, row in _TASKS.items()}
TASK_ROWS = ranked_tasks(_TASKS.values())
MODEL_ROWS = ranked_models(read_models(ROOT / "config/models.tsv").values())
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
GRID = read_grid_files(ROOT, None)["own"]
WORDS = GridWords(grid=GRID, tasks=TASK_ROWS)
PROTOCOLS = GRID.names


def request(protocols=BOTH, models=MODELS, tasks=TASKS, draws: int = 20) -> RankingRequest:
    wanted = {name: Wanted(models=models, tasks=tasks) for name in protocols}
    rows = {"models": MODEL_ROWS, "tasks": TASK_ROWS}
    return RankingRequest(grid=GRID, **rows, wanted=wanted, draws=draws, seed=0)


def harmony_grids(scores: pd.DataFrame, imported: list, asked: RankingRequest) -> dict[str, Grid]:
    return make_grids(pd.concat([scores, *imported], ignore_index=True), asked, KnownErrors())


def score(model: str, task: str, protocol: str, value: float, **other) -> dict:
    name, at, variant = model.partition("@")
    return {
        "study": "harmony",
        "model": name,
        "variant": at + variant,
        "task": task,
        "protocol": protocol,
        "shots": 0,
        "metric": METRICS[task],
        "value": value,
        "stderr": float(np.sqrt(max(value * (1 - value), 0) / 400)),
        "n": 400,
        "seed": 0,
    } | other


def frame(rows: list[dict]) -> pd.DataFrame:
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS)).astype(COLUMNS)


def study(protocols=BOTH, models=MODELS, tasks=TASKS, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    rows = []
    for protocol in protocols:
        noise = 0.02 if protocol == "train_before_test" else 0.15
        for at, model in enumerate(models):
            for task in tasks:
                value = 0.3 + 0.5 * at / len(models) + noise * generator.standard_normal()
                rows.append(score(model, task, protocol, float(np.clip(value, 0.02, 0.98))))
    return frame(rows)


def without(scores: pd.DataFrame, model: str, task: str, protocol: str) -> pd.DataFrame:
    """The study with one cell broken."""
    name = scores["model"] + scores["variant"]
    cell = (name == model) & (scores["task"] == task) & (scores["protocol"] == protocol)
    assert cell.sum() == 1
    return scores[~cell]
