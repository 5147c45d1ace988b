"""Sample items of a task with this project's seeds, or as LM-Harmony does."""

import numpy as np

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.settings.harmony import Draws


def permute_items(count: int, draws: Draws, seed: int, *names: str) -> np.ndarray:
    """Return a permutation of `count` item indices; LM-Harmony resets the seed to 0 before each draw."""
    if draws == "published":
        return np.random.RandomState(0).permutation(count)
    return np.random.default_rng(derive_seed(seed, *names)).permutation(count)


def draw_items(count: int, cap: int | None, draws: Draws, seed: int, *names: str) -> list[int]:
    """Sample `cap` of `count` item indices, sorted; "published" keeps the order of the permutation."""
    if cap is None or count <= cap:
        return list(range(count))
    drawn = permute_items(count, draws, seed, *names)[:cap].tolist()
    return drawn if draws == "published" else sorted(drawn)
