"""Sample items of a task with this project's seeds, or as LM-Harmony does."""

import numpy as np

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.settings.harmony import Draws


def permute_items(count: int, draws: Draws, seed: int, *names: str) -> np.ndarray:
    """Return a permutation of `count` item indices, seeded by `names`; LM-Harmony resets the seed to 0 before each."""
    if draws == "published":
        return np.random.RandomState(0).permutation(count)
    return np.random.default_rng(derive_seed(seed, *names)).permutation(count)


def draw_items(
    count: int, max_items: int | None, draws: Draws, seed: int, *names: str
) -> list[int]:
    """Sample `max_items` of `count` item indices, sorted; "published" keeps the order of the permutation."""
    if max_items is None or count <= max_items:
        return list(range(count))
    indices = permute_items(count, draws, seed, *names)[:max_items].tolist()
    return indices if draws == "published" else sorted(indices)
