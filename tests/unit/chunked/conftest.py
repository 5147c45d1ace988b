import random

import pytest
import torch


@pytest.fixture(autouse=True)
def seed_torch():
    """Seed torch randomly, and print the seed to reproduce a failure."""
    seed = random.randrange(2**32)
    print(f"torch.manual_seed({seed})")
    torch.manual_seed(seed)
