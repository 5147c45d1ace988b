"""Choose tasks within a budget that best predict the ranking of models on all tasks."""

from itertools import combinations

import numpy as np
import pandas as pd

from workflow_scripts.stats.principal import compute_principal_components

# Weight of the identity in the correlations of tasks, which come from few models in fewer families.
_SHRINKAGE = 0.1


def select_tasks(scores: pd.DataFrame, prices: pd.Series, budget: float) -> list[str]:
    """Choose the tasks within the budget that minimise the residual variance of the first principal component.

    With the correlations R of the tasks, shrunk by a tenth towards the identity, and the component's loadings b,
    scores on the tasks S leave the residual variance b'Rb - (Rb)_S' R_SS^-1 (Rb)_S. This criterion uses only the
    correlations, not the prediction error on these models: among thousands of sets the one with the lowest error
    would be overfitted and predict models of a new family worse. The search is greedy from the empty set: each step
    adds the task, or replaces one task by one or two, that leaves the smallest variance, until no step reduces it.
    """
    tasks = list(scores)
    price = prices.reindex(tasks).to_numpy(dtype=float)
    correlations = (1 - _SHRINKAGE) * np.corrcoef(scores.to_numpy(dtype=float), rowvar=False)
    correlations += _SHRINKAGE * np.eye(len(tasks))
    with_component = correlations @ compute_principal_components(scores).loadings["PC1"].to_numpy()
    selected = np.array([], dtype=int)
    max_explained = 0.0
    improves = True
    while improves:
        improves = False
        for sets in _list_steps(selected.tolist(), len(tasks)):
            sets = sets[price[sets].sum(axis=1) <= budget]
            blocks = correlations[sets[:, :, None], sets[:, None, :]]
            weights = np.linalg.solve(blocks, with_component[sets][..., None])[..., 0]
            explained = (with_component[sets] * weights).sum(axis=1)
            if explained.max(initial=0.0) > max_explained + 1e-9:
                improves = True
                max_explained = explained.max()
                selected = sets[explained.argmax()]
    return [tasks[number] for number in selected]


def _list_steps(selected: list[int], count: int) -> list[np.ndarray]:
    """List the sets that one step can reach: an array of sets with one more task, and one of sets of the same size.

    A step adds one of the `count` tasks, or replaces one by two or by one. A row has the sorted numbers of the tasks.
    An array without rows is left out.
    """
    others = [task for task in range(count) if task not in selected]
    rests = [[task for task in selected if task != out] for out in selected]
    larger = [[*selected, task] for task in others]
    larger += [[*rest, *pair] for rest in rests for pair in combinations(others, 2)]
    as_large = [[*rest, task] for rest in rests for task in others]
    return [np.sort(sets, axis=1) for sets in (larger, as_large) if sets]
