"""Draw items of a task: by this project's seeds, or as LM-Harmony does."""

import numpy as np

from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.settings.harmony import Draws


def permute_items(count: int, draws: Draws, seed: int, *names: str) -> np.ndarray:
    """Permute the numbers of `count` items; LM-Harmony sets seed 0 anew before each of its draws."""
    if draws == "published":
        return np.random.RandomState(0).permutation(count)
    return np.random.default_rng(derive_seed(seed, *names)).permutation(count)


def draw_items(count: int, cap: int | None, draws: Draws, seed: int, *names: str) -> list[int]:
    """Draw `cap` of `count` items; published ones stay in the order of the permutation."""
    if cap is None or count <= cap:
        return list(range(count))
    drawn = permute_items(count, draws, seed, *names)[:cap].tolist()
    return drawn if draws == "published" else sorted(drawn)
