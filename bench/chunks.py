"""Measure the speedup of chunked models and its causes: `make bench-chunks`.

One process, two threads, float32, random weights of Qwen2's shape with 24 layers. All variants
alternate within a round; the printed speedup is the median over the rounds of the ratio within a round.

unchanged    transformers' own model
one chunk    this code with all layers in one chunk: the part of the speedup due to leaner code
k2m12 loop   two chunks, one layer after another
k2m12, k4m6  chunks fused: the layers at one depth run as one
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from transformers import DynamicCache, Qwen2Config, Qwen2ForCausalLM

from workflow_scripts.chunked.architectures import ARCHITECTURES

LAYERS, VOCABULARY = 24, 1000
CACHED, STEPS = 64, 8  # tokens in the cache before decoding; tokens decoded per measurement
# Hidden size, and the MLP's width as a multiple of it.
SHAPES = ((128, 2), (128, 4), (256, 2), (256, 4), (512, 4), (896, 5))


def make_shape(hidden: int, ratio: int) -> dict:
    return {
        "vocab_size": VOCABULARY,
        "hidden_size": hidden,
        "intermediate_size": ratio * hidden,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": max(2, hidden // 64),
        "num_key_value_heads": max(1, hidden // 128),
        "max_position_embeddings": 2048,
    }


def make_variants(hidden: int, ratio: int) -> dict[str, torch.nn.Module]:
    base = Qwen2ForCausalLM(Qwen2Config(**make_shape(hidden, ratio))).eval()

    def make_chunked(**keys):
        config = ARCHITECTURES["qwen2"].config(
            **make_shape(hidden, ratio), use_adapters=False, aggregation_mode="residual", **keys
        )
        model = ARCHITECTURES["qwen2"].causal_lm(config).eval()
        model.load_state_dict(base.state_dict(), strict=False)
        return model

    two, four = ({"num_chunks": k, "num_layers_per_chunk": LAYERS // k} for k in (2, 4))
    return {
        "unchanged": base,
        "one chunk": make_chunked(chunking_mode="sequential", num_layers_per_chunk=LAYERS),
        "k2m12 loop": make_chunked(**two, chunk_execution="loop"),
        "k2m12": make_chunked(**two),
        "k4m6": make_chunked(**four),
    }


def build_decoding(model) -> Callable[[], float]:
    """Return a function that measures the mean seconds per new token with 64 tokens in the cache."""
    cache = DynamicCache(config=model.config)
    token = torch.randint(VOCABULARY, (1, 1), device=model.device)
    with torch.inference_mode():
        model(
            torch.randint(VOCABULARY, (1, CACHED), device=model.device),
            past_key_values=cache,
            use_cache=True,
        )

    def run() -> float:
        with torch.inference_mode():
            start = time.perf_counter()
            for _ in range(STEPS):
                model(token, past_key_values=cache, use_cache=True)
            if token.is_cuda:
                torch.cuda.synchronize()
            seconds = (time.perf_counter() - start) / STEPS
        cache.crop(-STEPS)
        return seconds

    return run


def build_prefill(model, rows: int, tokens: int) -> Callable[[], float]:
    """Return a function that measures the seconds of a forward pass without a cache."""
    ids = torch.randint(VOCABULARY, (rows, tokens))

    def run() -> float:
        with torch.inference_mode():
            start = time.perf_counter()
            model(ids, use_cache=False)
            return time.perf_counter() - start

    return run


def build_training_step(model, rows: int, tokens: int) -> Callable[[], float]:
    """Return a function that measures the seconds of a forward and backward pass."""
    ids = torch.randint(VOCABULARY, (rows, tokens))

    def run() -> float:
        model.zero_grad()
        start = time.perf_counter()
        model(ids, labels=ids, use_cache=False).loss.backward()
        seconds = time.perf_counter() - start
        model.zero_grad()
        return seconds

    return run


def measure_alternating(
    runs: dict[str, Callable[[], float]], rounds: int
) -> dict[str, list[float]]:
    """Return the seconds of each run in each round, after a warm-up."""
    for run in runs.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            seconds[name].append(run())
    return seconds


def report(title: str, seconds: dict[str, list[float]]) -> None:
    print(f"\n{title}")
    print(f"  {'variant':<12}{'ms':>9}{'faster':>9}{'from':>8}{'to':>8}")
    for name, times in seconds.items():
        ratios = [a / b for a, b in zip(seconds["unchanged"], times, strict=True)]
        line = f"  {name:<12}{1000 * statistics.median(times):>9.2f}"
        line += f"{statistics.median(ratios):>9.2f}{min(ratios):>8.2f}{max(ratios):>8.2f}"
        print(line)
    loop = statistics.median(
        [a / b for a, b in zip(seconds["k2m12 loop"], seconds["k2m12"], strict=True)]
    )
    print(f"  fused over loop: {loop:.2f} times faster")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--largest", type=int, default=896, help="largest hidden size to time")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    torch.manual_seed(0)
    for hidden, ratio in SHAPES:
        if hidden > arguments.largest:
            continue
        models = make_variants(hidden, ratio)
        rounds = arguments.rounds if hidden <= 256 else max(3, arguments.rounds // 3)
        title = f"hidden size {hidden}, MLP width {ratio * hidden}"
        report(
            f"{title}: one token, batch 1, {CACHED} in the cache",
            measure_alternating(
                {name: build_decoding(model) for name, model in models.items()}, rounds
            ),
        )
        if (hidden, ratio) not in ((128, 2), (512, 4)):
            continue
        fewer_rounds = max(3, rounds // 3)
        for rows, tokens in ((1, 64), (8, 64)):
            report(
                f"{title}: reading {rows} x {tokens} tokens",
                measure_alternating(
                    {n: build_prefill(m, rows, tokens) for n, m in models.items()}, fewer_rounds
                ),
            )
        report(
            f"{title}: a training step of 2 x 64 tokens",
            measure_alternating(
                {n: build_training_step(m, 2, 64) for n, m in models.items()}, fewer_rounds
            ),
        )


if __name__ == "__main__":
    main()
