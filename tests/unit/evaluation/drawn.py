"""Requests that share prefixes, drawn anew each time, and the plain ways to answer them."""

import random

import torch
from torch import nn

from tests.tiny_models import VOCABULARY, make_tiny_model

WINDOW = 128


def fresh_seed() -> int:
    """New inputs each time; shown when a test fails, so that it can be run again."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    return seed


class WithoutCache(nn.Module):
    """A model that knows of tokens only, as a custom one may."""

    def __init__(self, vocabulary: int = VOCABULARY):
        super().__init__()
        self.inner = make_tiny_model("qwen2", vocabulary=vocabulary)
        self.config = self.inner.config
        self.device = self.inner.device

    def tie_weights(self):
        pass

    def forward(self, input_ids):
        return self.inner(input_ids)


class Requests:
    def __init__(self, seed: int, vocabulary: int = VOCABULARY):
        self._rng = random.Random(seed)
        self._vocabulary = vocabulary

    def tokens(self, least: int, most: int | None = None) -> list[int]:
        length = self._rng.randint(least, most or least)
        return self._rng.choices(range(1, self._vocabulary), k=length)

    def contexts(self, subjects: int = 2, questions: int = 5) -> list[list[int]]:
        """Questions after few-shot examples; one is a part of another."""
        contexts = []
        for _ in range(subjects):
            examples = self.tokens(40, 50)
            contexts += [examples + self.tokens(3, 20) for _ in range(questions)]
        return [*contexts, contexts[0][:30]]

    def mixed(self) -> list[tuple[list[int], list[int]]]:
        """Letters, endings (one the start of another), and some that share nothing; shuffled."""
        requests = []
        for context in self.contexts():
            ending = self.tokens(4, 6)
            endings = [[5], [6], [7], ending, [*ending, 9], self.tokens(2, 7)]
            requests += [(context, ending) for ending in endings]
        requests += [(self.tokens(1, 40), self.tokens(1, 6)) for _ in range(12)]
        requests.append(requests[0])
        self._rng.shuffle(requests)
        return requests


@torch.no_grad()
def plain_score(model, context: list[int], target: list[int], window: int = WINDOW):
    """One sequence at a time, without cache, mask or batch."""
    tokens = [*context, *target][-(window + 1) :]
    logits = model(torch.tensor([tokens[:-1]])).logits[0, -len(target) :]
    logprobs = logits.log_softmax(-1)[range(len(target)), target]
    return logprobs.sum().item(), logits.argmax(-1).tolist() == target


def generate_alone(model, context: list[int], **options) -> list[int]:
    """What transformers' own loop generates behind one prompt."""
    ids = torch.tensor([context])
    options = {"do_sample": False} | options
    row = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **options)[0]
    return row[len(context) :].tolist()
