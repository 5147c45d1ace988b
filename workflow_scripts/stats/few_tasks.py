"""Which few tasks say most, for their price, about how models rank on all."""

from itertools import combinations

import numpy as np
import pandas as pd

from workflow_scripts.stats.principal import component_loadings

# Of the correlations of tasks, what is taken to be chance: few models, which come in fewer families.
SHRINKAGE = 0.1


def chosen(scores: pd.DataFrame, prices: pd.Series, budget: float) -> list[str]:
    """Choose the tasks of at most this price that leave least of the first principal component uncertain.

    With the correlations R of the tasks, drawn a tenth of the way to those of tasks that have nothing in
    common, and the component's loadings b, models that are measured on the tasks S leave the variance
    b'Rb - (Rb)_S' R_SS^-1 (Rb)_S of it. Only the correlations are asked, and not which tasks would have
    predicted these very models best: of thousands of sets the best one is best by luck, and models of a
    further family are predicted worse by it. Beginning with none, the task is added, put in one's place or put
    with a second one in one's place that leaves least, until no such step leaves less.
    """
    tasks = list(scores)
    price = prices.reindex(tasks).to_numpy(dtype=float)
    correlations = (1 - SHRINKAGE) * np.corrcoef(scores.to_numpy(dtype=float), rowvar=False)
    correlations += SHRINKAGE * np.eye(len(tasks))
    with_component = correlations @ component_loadings(scores)["PC1"].to_numpy()
    best: tuple[int, ...] = ()
    most, improves = 0.0, True
    while improves:
        improves = False
        for sets in _list_steps(best, len(tasks)):
            sets = sets[price[sets].sum(axis=1) <= budget]
            parts = correlations[sets[:, :, None], sets[:, None, :]]
            weights = np.linalg.solve(parts, with_component[sets][..., None])[..., 0]
            explained = (with_component[sets] * weights).sum(axis=1)
            if explained.max(initial=0.0) > most + 1e-9:
                most, improves = float(explained.max()), True
                best = tuple(sets[explained.argmax()])
    return [tasks[at] for at in best]


def _list_steps(taken: tuple[int, ...], count: int) -> list[np.ndarray]:
    """List sets of tasks in rows: those with one more or with two for another, and those with one for another."""
    others = [at for at in range(count) if at not in taken]
    kept = [tuple(at for at in taken if at != out) for out in taken]
    larger = [(*taken, task) for task in others]
    larger += [(*rest, *pair) for rest in kept for pair in combinations(others, 2)]
    as_large = [(*rest, task) for rest in kept for task in others]
    return [np.sort(np.array(sets), axis=1) for sets in (larger, as_large) if sets]


def cheapest(prices: pd.Series, budget: float) -> list[str]:
    """Choose as many tasks of at most this price together as there can be."""
    ordered = prices.sort_values(kind="stable")
    return list(ordered.index[ordered.cumsum() <= budget])


def at_random(prices: pd.Series, budget: float, generator: np.random.Generator) -> list[str]:
    """Choose one after the other in random order, each that is still paid for."""
    taken, left = [], budget
    for task in generator.permutation(prices.index):
        if prices[task] <= left:
            taken.append(str(task))
            left -= prices[task]
    return taken
