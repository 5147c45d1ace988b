"""Time how long a model takes to read a batch of prompts, and for each token that it then writes.

All variants are timed in one process and take turns within each round, so that whatever slows the
machine down meanwhile meets all of them, and what is compared is the ratio within a round.
"""

import statistics
import time
from collections.abc import Callable, Mapping

WARM_UPS = 1
Timings = dict[str, list[float]]  # seconds of each round, by what was timed


def time_interleaved(
    variants: Mapping[str, Callable[[], tuple[float, float]]], rounds: int
) -> dict[str, Timings]:
    """Time each variant once per round, in turn; a variant returns its seconds for prefill and per token."""
    timings: dict[str, Timings] = {
        name: {"prefill_seconds": [], "token_seconds": []} for name in variants
    }
    for number in range(-WARM_UPS, rounds):
        for name, measure in variants.items():
            prefill, token = measure()
            if number >= 0:
                timings[name]["prefill_seconds"].append(prefill)
                timings[name]["token_seconds"].append(token)
    return timings


def time_greedy_generation(model, batches: list, new_tokens: int) -> tuple[float, float]:
    """Return the seconds to read these batches, and to write one more token for all of their rows.

    `batches` are pairs of ids and attention mask, padded on the left; the reading gives the first
    new token, so `new_tokens` - 1 steps are timed.
    """
    import torch

    reading = writing = 0.0
    with torch.inference_mode():
        for ids, mask in batches:
            position = (mask.cumsum(-1) - 1).clamp(min=0)
            cache = None
            start = middle = _now(model)
            for step in range(new_tokens):
                if step > 0:
                    mask = torch.cat((mask, mask.new_ones(len(mask), 1)), dim=1)
                    position = position[:, -1:] + 1
                out = model(
                    ids,
                    attention_mask=mask,
                    position_ids=position,
                    past_key_values=cache,
                    use_cache=True,
                    logits_to_keep=1,
                )
                ids = out.logits[:, -1:].argmax(-1)
                cache = out.past_key_values
                if step == 0:
                    middle = _now(model)
            reading += middle - start
            writing += _now(model) - middle
    return reading, writing / (new_tokens - 1)


def batch_left_padded(tokenizer, texts: list[str], batch_size: int, device) -> list:
    """Tokenise texts into batches of ids and masks, in their order."""
    rows = [tokenizer(text)["input_ids"] for text in texts]
    return [
        pad_left(rows[start : start + batch_size], device)
        for start in range(0, len(rows), batch_size)
    ]


def pad_left(rows: list[list[int]], device) -> tuple:
    """Pad rows of tokens on the left; return one batch of ids and mask."""
    import torch

    def pad(rows: list) -> torch.Tensor:
        return torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(row) for row in rows], batch_first=True, padding_side="left"
        ).to(device)

    return pad(rows), pad([[1] * len(row) for row in rows])


def compute_median_iqr(seconds: list[float]) -> tuple[float, float]:
    """Compute the median, and half the distance between the quartiles."""
    low, median, high = statistics.quantiles(seconds, n=4)
    return median, (high - low) / 2


def _now(model) -> float:
    if model.device.type == "cuda":
        import torch

        torch.cuda.synchronize(model.device)
    return time.perf_counter()
