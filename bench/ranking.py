"""How long the tables, figures and page of the ranking study take with many models, and how much memory.

    make bench-ranking MODELS=10000

The published scores under both protocols, again and again with a little noise, until there are as many
models as asked for, a tenth of the cells missing. Each table and figure is made as its rule makes it, by
the same step with the same request, in a process of its own with one thread, two at a time.
"""

import argparse
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from workflow_scripts.studies.ranking.requests import (
    grid_request,
    grid_words,
    models_request,
    pair_request,
    ranking_request,
    scores_request,
)

from workflow_scripts.paper.requests import leaderboard_page
from workflow_scripts.scores.columns import COLUMNS
from workflow_scripts.scores.influences import item_errors
from workflow_scripts.settings.load import Settings, load_settings
from workflow_scripts.settings.request import StepRequest

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "resources/published"
NOISE = 0.01  # of a score of at most one; two trainings of one model differ by about as much
ASKED: dict[str, dict[str, Callable[[Settings], StepRequest]]] = {
    "table": {
        "scores": scores_request,
        "leaderboard": ranking_request,
        "agreement": ranking_request,
        "components": ranking_request,
        "by_size": ranking_request,
        "variance": grid_request,
        "significance": grid_request,
        "panel": grid_request,
        "two_tasks": pair_request,
    },
    "figure": {
        "scores": models_request,
        "matrices": grid_words,
        "agreement_by_task": grid_words,
        "categories": grid_words,
        "components": grid_words,
        "by_size": grid_words,
        "variance": grid_words,
        "pc1_by_size": grid_words,
        "pc1_by_compute": grid_words,
        "two_tasks": grid_words,
        "bump": grid_words,
        "panel": grid_words,
    },
}
# Figures of another table than that of their name.
DRAWN_FROM = {
    **dict.fromkeys(("matrices", "agreement_by_task", "categories"), "agreement"),
    **dict.fromkeys(("pc1_by_size", "pc1_by_compute", "bump"), "leaderboard"),
}


def main(models: int, missing: float, seed: int, folder: Path) -> None:
    settings = _study(folder, models, missing, seed)
    started, busy = time.perf_counter(), 0.0
    for kind in ("table", "figure", "page"):
        for name, (seconds, megabytes) in _made(kind, settings, folder).items():
            print(f"{kind} {name}: {seconds:.1f} s, {megabytes:.0f} MB", flush=True)
            busy += seconds
    elapsed = time.perf_counter() - started
    made = (path for path in (folder / "results").rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in made)
    print(
        f"{models} models, all of it: {busy:.0f} s of CPU time; {elapsed:.0f} s passed, two at a time;"
        f" {size / 1e6:.0f} MB written"
    )


def _study(folder: Path, models: int, missing: float, seed: int) -> Settings:
    """The scores, the models table that knows them, and the settings of a study of them alone."""
    cells = pd.read_csv(PUBLISHED / "harmony_cells.csv")
    cells = cells[cells["metric"] != "bits_per_byte"]
    known = pd.read_csv(ROOT / "config/models.tsv", sep="\t", dtype=str)
    names = list(dict.fromkeys(cells["model"]))
    lowest = cells["metric"].map({"mcc": -1.0}).fillna(0.0)
    generator = np.random.default_rng(seed)
    scores, rows = [], [known]
    for copy in range(-(-models // len(names))):
        taken = names[: models - copy * len(names)]
        noise = generator.normal(0, NOISE if copy else 0, len(cells))
        of_copy = cells.assign(value=(cells["value"] + noise).clip(lowest, 1))[
            cells["model"].isin(taken)
        ]
        if copy:
            of_copy = of_copy.assign(model=of_copy["model"] + f"-{copy}")
            again = known[known["model"].isin(taken)]
            rows.append(again.assign(model=again["model"] + f"-{copy}"))
        scores.append(of_copy)
    (folder / "results/scores").mkdir(parents=True, exist_ok=True)
    every = pd.concat(scores)
    every[generator.random(len(every)) >= missing].to_csv(folder / "others.csv", index=False)
    pd.concat(rows).to_csv(folder / "models.tsv", sep="\t", index=False)
    none = pd.DataFrame(columns=list(COLUMNS)).astype(COLUMNS)
    none.to_parquet(folder / "results/scores/harmony.parquet")
    item_errors([]).to_parquet(folder / "results/scores/harmony_errors.parquet")
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    config |= {"tables": config.get("tables", {}) | {"models": str(folder / "models.tsv")}}
    tasks = list(dict.fromkeys(cells["task"]))
    study = {"models": [], "tasks": tasks, "imported_scores": [str(folder / "others.csv")]}
    config |= {"harmony": study}
    return load_settings(config, ROOT)


def _made(kind: str, settings: Settings, folder: Path) -> dict[str, tuple[float, float]]:
    jobs = _page(settings, folder) if kind == "page" else _jobs(kind, settings, folder)
    # A fresh process for each, as a rule's job is one: what it takes is seen apart.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context, max_tasks_per_child=1) as pool:
        running = {name: pool.submit(_measured, *job) for name, job in jobs.items()}
        return {name: job.result() for name, job in running.items()}


def _jobs(kind: str, settings: Settings, folder: Path) -> dict[str, tuple[str, str, tuple]]:
    results = folder / "results"
    jobs = {}
    for name, asked in ASKED[kind].items():
        given = {
            "scores": results / "scores/harmony.parquet",
            "imported": list(settings.harmony.imported_scores),
            "errors": results / "scores/harmony_errors.parquet",
            "correlations": PUBLISHED / "items/correlations.csv",
            "panel": PUBLISHED / "harmony_leaderboard.csv",
            "table": results / f"tables/harmony_{DRAWN_FROM.get(name, name)}.csv",
        }
        made = {"table": ("csv", "md", "tex"), "figure": ("pdf", "png")}[kind]
        paths = [results / f"{kind}s/harmony_{name}.{end}" for end in made]
        request = asked(settings).as_params()
        room = "harmony" if name == "scores" else "ranking"
        arguments = (f"studies.{room}.{name}", given, request, *paths)
        jobs[name] = (f"workflow_scripts.steps.{kind}", "main", arguments)
    return jobs


def _page(settings: Settings, folder: Path) -> dict[str, tuple[str, str, tuple]]:
    tables = ("harmony_leaderboard", "harmony_components")
    given = {name: folder / f"results/tables/{name}.csv" for name in tables}
    request = leaderboard_page(settings, measures=True).as_params()
    page = {"page": folder / "results/report/leaderboard.html"}
    function = "paper.leaderboard.write_leaderboard"
    return {
        "leaderboard": ("workflow_scripts.steps.files", "main", (function, given, request, page))
    }


def _measured(module: str, function: str, arguments: tuple[Any, ...]) -> tuple[float, float]:
    """CPU seconds of the process, its imports among them, and the most memory that it held in MB."""
    from importlib import import_module

    getattr(import_module(module), function)(*arguments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return time.process_time(), peak / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=600)
    parser.add_argument("--missing", type=float, default=0.1, help="The share of cells left out.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="A folder for what is made, to look at.")
    asked = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    with tempfile.TemporaryDirectory() as temporary:
        main(asked.models, asked.missing, asked.seed, asked.keep or Path(temporary))
