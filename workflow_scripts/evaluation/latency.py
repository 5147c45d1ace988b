"""How long a model takes to read a batch of prompts, and for each token that it then writes.

All variants are timed in one process and take turns within each round, so that whatever slows the
machine down meanwhile meets all of them, and what is compared is the ratio within a round.
"""

import statistics
import time
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

WARM_UPS = 1
Variant = TypeVar("Variant", bound=Hashable)
Timings = dict[str, list[float]]  # seconds of each round, by what was timed


def interleaved(
    variants: Mapping[Variant, Callable[[], tuple[float, float]]], rounds: int
) -> dict[Variant, Timings]:
    """Each variant once per round, in turn; a variant gives its seconds for prefill and per token."""
    timings: dict[Variant, Timings] = {
        name: {"prefill_seconds": [], "token_seconds": []} for name in variants
    }
    for number in range(-WARM_UPS, rounds):
        for name, measure in variants.items():
            seconds = measure()
            if number >= 0:
                for of_rounds, one in zip(timings[name].values(), seconds, strict=True):
                    of_rounds.append(one)
    return timings


def greedy_latency(model, batches: list, new_tokens: int) -> tuple[float, float]:
    """Seconds to read these batches, and to write one more token for all of their rows.

    `batches` are pairs of ids and attention mask, padded on the left; the reading gives the first
    new token, so `new_tokens` - 1 steps are timed.
    """
    import torch

    reading = writing = 0.0
    with torch.inference_mode():
        for ids, mask in batches:
            positions = (mask.cumsum(-1) - 1).clamp(min=0)
            start = _now(model)
            out = model(
                ids, attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=1
            )
            token = out.logits[:, -1:].argmax(-1)
            middle = _now(model)
            position = positions[:, -1:]
            for _ in range(new_tokens - 1):
                mask = torch.cat((mask, mask.new_ones(len(mask), 1)), dim=1)
                position = position + 1
                out = model(
                    token,
                    attention_mask=mask,
                    position_ids=position,
                    past_key_values=out.past_key_values,
                    use_cache=True,
                )
                token = out.logits[:, -1:].argmax(-1)
            end = _now(model)
            reading += middle - start
            writing += end - middle
    return reading, writing / (new_tokens - 1)


def left_padded(tokenizer, texts: list[str], batch_size: int, device) -> list:
    """The texts in batches of ids and masks, in their order."""
    rows = [tokenizer(text)["input_ids"] for text in texts]
    return [
        one_left_padded(rows[start : start + batch_size], device)
        for start in range(0, len(rows), batch_size)
    ]


def one_left_padded(rows: list[list[int]], device) -> tuple:
    """One batch of ids and mask."""
    import torch

    longest = max(map(len, rows))
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for line, row in enumerate(rows):
        ids[line, longest - len(row) :] = torch.tensor(row)
        mask[line, longest - len(row) :] = 1
    return ids.to(device), mask.to(device)


def median_and_spread(seconds: list[float]) -> tuple[float, float]:
    """The median, and half the distance between the quartiles."""
    low, _, high = statistics.quantiles(seconds, n=4)
    return statistics.median(seconds), (high - low) / 2


def _now(model) -> float:
    if model.device.type == "cuda":
        import torch

        torch.cuda.synchronize(model.device)
    return time.perf_counter()
