import random

import pytest
import torch


@pytest.fixture(autouse=True)
def seed_torch():
    """Draw new random inputs each time, and print the seed that repeats a failure."""
    seed = random.randrange(2**32)
    print(f"torch.manual_seed({seed})")
    torch.manual_seed(seed)
