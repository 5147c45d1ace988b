"""Compute how well training on a subset of tasks ranks the models of held-out families, against a second release."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.scores.published_leaderboard import read_wide_scores
from workflow_scripts.stats.agreement import compute_kendall_matrix
from workflow_scripts.stats.principal import compute_principal_components
from workflow_scripts.stats.ridge_by_family import MIN_FAMILY_MODELS, predict_held_out
from workflow_scripts.stats.task_selection import select_tasks
from workflow_scripts.studies.ranking.grid import read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.grid_tables import write_grid_table

# Fractions of the tokens that training on all tasks takes.
BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
# The selections of tasks to train on, and their names in the table.
ALL = "all"
NONE = "none"
CHOSEN = "chosen"
_SELECTIONS = {CHOSEN: "chosen", NONE: "direct scores alone", ALL: "all trained again"}
_NOTE = (
    "How well models are ranked when they are trained on a few tasks only. Price: share of the tokens that"
    " training on all tasks takes. Each model is placed as a new one would be: the tasks are chosen, and its"
    " PC1 is predicted from its scores on them, by what the models of all other families say. Tau: Kendall's"
    " tau-b of the PC1 so predicted with that of the second release, for which every model was trained on every"
    " task again; all trained again: the PC1 of all tasks of the first release, no model left out. Off: root mean"
    " square of the difference of the predicted PC1 from that of the second release on the first one's component, which"
    " is what is predicted: of the other families both releases are known. Within: the share of"
    " models for which it lies"
    f" in the 95% interval of the prediction, and the least such share of a family of {MIN_FAMILY_MODELS} or"
    " more."
)
_COLUMNS = ["way", "budget", "price", "tasks", "tau", "off", "within", "least_within", "chosen"]


def compute_price(
    trained: pd.DataFrame,
    direct: pd.DataFrame,
    second: pd.DataFrame,
    families: pd.Series,
    prices: pd.Series,
) -> pd.DataFrame:
    """Compute one row for all tasks, for none, and for the tasks chosen within each budget.

    `trained` and `direct` are the scores of the first release, `second` those of the second release after training,
    all with models in rows and tasks in columns. `prices` are the training tokens of the tasks.
    """
    prices = prices / prices.sum()
    standard = (second - trained.mean()) / trained.std(ddof=0)
    first_components = compute_principal_components(trained)
    # The second release projected on the first release's PC1, and its own PC1.
    models = pd.DataFrame(
        {
            "target": 100 * standard @ first_components.loadings["PC1"],
            "second": compute_principal_components(second).scores["PC1"],
            "family": families,
        }
    )
    tau = _compute_tau(first_components.scores["PC1"], models["second"])
    rows: list[dict[str, Any]] = [
        {"way": ALL, "budget": 1.0, "price": 1.0, "tasks": len(prices), "tau": tau},
        {"way": NONE, "budget": 0.0, "price": 0.0, "tasks": 0}
        | _predict_families(models, lambda _: direct),
    ]

    def choose_scores(others: np.ndarray, budget: float) -> pd.DataFrame:
        return trained[select_tasks(trained[others], prices, budget)]

    for budget in BUDGETS:
        tasks = select_tasks(trained, prices, budget)
        row = {"way": CHOSEN, "budget": budget, "chosen": " ".join(tasks)}
        row |= {"price": prices[tasks].sum(), "tasks": len(tasks)}
        rows.append(row | _predict_families(models, partial(choose_scores, budget=budget)))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _predict_families(
    models: pd.DataFrame, choose_scores: Callable[[np.ndarray], pd.DataFrame]
) -> dict[str, float]:
    """Predict PC1 of each family's models from the other families, and compare with the second release.

    `choose_scores` gets the mask of the other families' models, and returns the scores of all models to predict from.
    """

    def choose_predictors(others: np.ndarray) -> np.ndarray:
        scores = choose_scores(others)
        return ((scores - scores[others].mean()) / scores[others].std(ddof=0)).to_numpy()

    target = models["target"].to_numpy()
    families = models["family"].to_numpy()
    predicted, half_width = predict_held_out(choose_predictors, target, families).T
    errors = pd.Series(predicted - target, models.index)
    is_covered = errors.abs() <= half_width
    by_family = is_covered.groupby(families).agg(["size", "mean"])
    is_large = by_family["size"] >= MIN_FAMILY_MODELS
    return {
        "tau": _compute_tau(pd.Series(predicted, models.index), models["second"]),
        "off": float(np.sqrt((errors**2).mean())),
        "within": float(is_covered.mean()),
        "least_within": float(by_family.loc[is_large, "mean"].min()),
    }


def _compute_tau(first: pd.Series, second: pd.Series) -> float:
    return float(compute_kendall_matrix(pd.concat([first, second], axis=1)).iloc[0, 1])


@validate_call
def main(
    grid: Path,
    release: Path,
    table: list[Path],
    settings: GridSettings,
    training_tokens: dict[str, float],
) -> None:
    """Write the table; `training_tokens` are by task, `release` is the file of the second release."""
    grids = read_grids(grid)
    assert settings.release is not None, "the rule is for grids that have one"
    trained_grid = grids[settings.release.protocol]
    trained = trained_grid.scores
    direct = grids[settings.reference_protocol].scores
    second = read_wide_scores(release)
    labels = trained.dropna().index.intersection(second.index)
    tasks = [task for task in trained if task in second and task in training_tokens]
    price = compute_price(
        trained.loc[labels, tasks],
        direct.loc[labels, tasks],
        second.loc[labels, tasks],
        families=trained_grid.models.loc[labels, "family"].fillna("other"),
        prices=pd.Series(training_tokens, dtype=float)[tasks],
    )
    names = settings.task_names
    shown = {
        "Tasks": price["way"].map(_SELECTIONS),
        "Budget (%)": "{budget:.0%}",
        "Price (%)": "{price:.1%}",
        "Number": "{tasks:.0f}",
        "Tau": "{tau:.3f}",
        "Off": "{off:.0f}",
        "Within": "{within:.2f}",
        "Least within": "{least_within:.2f}",
        "Which": [
            ", ".join(names[task] for task in row.split()) for row in price["chosen"].fillna("")
        ],
    }
    title = "Training on fewer tasks"
    write_grid_table(price, table, settings, title=title, note=_NOTE, shown=shown)


if "snakemake" in globals():
    run_job(main, snakemake)
