import random

import pytest
import torch


@pytest.fixture(autouse=True)
def fresh_numbers():
    """New random inputs each time; a failure says with which seed to see it again."""
    seed = random.randrange(2**32)
    print(f"torch.manual_seed({seed})")
    torch.manual_seed(seed)
