"""Trainings and places on the panel, by the two published releases: what is judged is left out of the estimate."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from bench.held import FALSE, Held
from workflow_scripts.scores.published_leaderboard import as_fractions
from workflow_scripts.settings.tables import read_models
from workflow_scripts.stats.item_errors import assumed_errors
from workflow_scripts.stats.partial_order import SIGNIFICANT
from workflow_scripts.stats.placement import without_families
from workflow_scripts.stats.reruns import Reruns, size_band
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.studies.ranking.requests import ranked_models
from workflow_scripts.studies.ranking.trainings import published_reruns, published_trainings

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "resources/published"
PARTS = 15  # of the models, each judged by the others
SIZES = ("below 0.6 B", "0.6 to 2 B", "2 to 5 B", "5 B and more")
_FEWEST = (
    13  # of 24 tasks that a model was trained on twice, so that two of them have some in common
)
MEASURED = (1, 2, 3, 5, 8, 12, 16)  # tasks
_MOST = (0.0, 0.08)  # of a family or a size


def rows(sets: int, seed: int = 0) -> list[Held]:
    models = ranked_models(read_models(ROOT / "config/models.tsv").values())
    leaderboard = pd.read_csv(PUBLISHED / "harmony_leaderboard.csv")
    cells = pd.read_csv(PUBLISHED / "harmony_cells.csv")

    names = leaderboard["model"].tolist()

    def held_out(estimate: Callable[..., Reruns]) -> tuple[pd.DataFrame, pd.DataFrame]:
        differences, spread = estimate(leaderboard, cells, models).differences, []
        for at in range(PARTS):
            these = pd.Series(names[at::PARTS], names[at::PARTS])
            others = leaderboard[~leaderboard["model"].isin(these)]
            spread.append(estimate(others, cells, models).spread(these, list(differences)))
        # Both releases put the same items, so that trainings alone, two of each cell, part them.
        return differences, np.sqrt(2) * pd.concat(spread).reindex_like(differences)

    about = pd.DataFrame(map(dict, models)).set_index("model").loc[names]
    panel = 100 * as_fractions(leaderboard.set_index("model"))
    return [
        *_trained_again(*held_out(published_reruns), about),
        *_pairs(*held_out(published_trainings)),
        *_panel(panel, about["family"], sets, seed),
    ]


def _trained_again(
    differences: pd.DataFrame, errors: pd.DataFrame, about: pd.DataFrame
) -> list[Held]:
    differing = (differences.abs() > SIGNIFICANT * errors).where(differences.notna())

    def row(case: str, of: pd.Series, wanted: tuple[float, float] = _MOST) -> Held:
        share = float(np.nanmean(differing[of.to_numpy()].to_numpy(float)))
        return Held("a score trained again differs", case, (share,), wanted)

    bands = about["parameters"].map(size_band)
    return [
        row("61 models, 24 tasks", about["family"].notna(), FALSE),
        *(row(one, about["family"] == one) for one in dict.fromkeys(about["family"])),
        *(row(name, bands == band) for band, name in enumerate(SIZES)),
    ]


def _pairs(differences: pd.DataFrame, errors: pd.DataFrame) -> list[Held]:
    """Whether a difference of two models is another one when both are trained again."""
    twice = differences[differences.notna().sum(axis=1) >= _FEWEST].index
    differences, errors = differences.loc[twice], errors.loc[twice]
    first, second = np.array(list(combinations(range(len(twice)), 2))).T
    nothing = {task: assumed_errors(np.zeros(len(twice)), 0.0) for task in differences}
    known = ScoreErrors(differences, nothing, errors)
    off = differences.to_numpy()[first] - differences.to_numpy()[second]
    on_task = (np.abs(off) / known.of_differences(first, second))[~np.isnan(off)]
    mean = np.abs(np.nanmean(off, axis=1)) / known.of_mean_differences(first, second)
    what = "two models are otherwise apart when trained again"
    cases = {"on a task": on_task, "in the mean of the tasks": mean}
    return [
        Held(what, case, (float((sizes > SIGNIFICANT).mean()),), FALSE)
        for case, sizes in cases.items()
    ]


def _panel(panel: pd.DataFrame, families: pd.Series, sets: int, seed: int) -> list[Held]:
    """Each model placed by the other families from tasks drawn at random, by the number of tasks."""
    held = {}
    for tasks in MEASURED:
        of_sets = []
        for at in range(sets):
            generator = np.random.default_rng([seed, tasks, at])
            chosen = list(generator.choice(panel.columns, tasks, replace=False))
            found = without_families(panel, chosen, families)
            of_sets.append((found["low"] <= found["pc1"]) & (found["pc1"] <= found["high"]))
        held[tasks] = pd.concat(of_sets, axis=1).mean(axis=1)
    shares = pd.DataFrame(held)
    by_family = shares.mean(axis=1).groupby(families, sort=False).mean()
    what, sizes = "place on the panel, family left out", ", ".join(map(str, MEASURED))
    every = [Held(what, f"61 models, {sizes} tasks", tuple(shares.mean()))]
    return every + [Held(what, family, (share,)) for family, share in by_family.items()]
