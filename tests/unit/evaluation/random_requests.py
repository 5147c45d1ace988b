"""Draw random requests that share prefixes, and compute their reference answers without an engine."""

import random

import torch
from torch import nn

from tests.tiny_models import VOCABULARY, make_tiny_model

WINDOW = 128


def fresh_seed() -> int:
    """Draw a seed and print it, so that a failure can be reproduced."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    return seed


class CachelessModel(nn.Module):
    """A model with only input_ids as input, like some custom models."""

    def __init__(self, vocabulary: int = VOCABULARY):
        super().__init__()
        self.inner = make_tiny_model("qwen2", vocabulary=vocabulary)
        self.config = self.inner.config
        self.device = self.inner.device

    def tie_weights(self):
        pass

    def forward(self, input_ids):
        return self.inner(input_ids)


class RandomRequests:
    """Draw random contexts and targets from a seed."""

    def __init__(self, seed: int):
        self._rng = random.Random(seed)

    def draw_tokens(self, minimum: int, maximum: int | None = None) -> list[int]:
        length = self._rng.randint(minimum, maximum or minimum)
        return self._rng.choices(range(1, VOCABULARY), k=length)

    def draw_contexts(self, subjects: int = 2, questions: int = 5) -> list[list[int]]:
        """Draw questions after few-shot examples; the last context is a prefix of the first."""
        contexts = []
        for _ in range(subjects):
            examples = self.draw_tokens(40, 50)
            contexts += [examples + self.draw_tokens(3, 20) for _ in range(questions)]
        return [*contexts, contexts[0][:30]]

    def draw_requests(self) -> list[tuple[list[int], list[int]]]:
        """Draw, in random order, letters, endings, an extended ending, and requests that share no prefix."""
        requests = []
        for context in self.draw_contexts():
            ending = self.draw_tokens(4, 6)
            endings = [[5], [6], [7], ending, [*ending, 9], self.draw_tokens(2, 7)]
            requests += [(context, ending) for ending in endings]
        requests += [(self.draw_tokens(1, 40), self.draw_tokens(1, 6)) for _ in range(12)]
        requests.append(requests[0])
        self._rng.shuffle(requests)
        return requests


@torch.no_grad()
def compute_plain_score(model, context: list[int], target: list[int], window: int = WINDOW):
    """Score one sequence without cache, mask or batch."""
    tokens = [*context, *target][-(window + 1) :]
    logits = model(torch.tensor([tokens[:-1]])).logits[0, -len(target) :]
    logprobs = logits.log_softmax(-1)[range(len(target)), target]
    return logprobs.sum().item(), logits.argmax(-1).tolist() == target


def generate_alone(model, context: list[int], **options) -> list[int]:
    """Generate from a single prompt with transformers' generate."""
    ids = torch.tensor([context])
    options = {"do_sample": False} | options
    row = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **options)[0]
    return row[len(context) :].tolist()
