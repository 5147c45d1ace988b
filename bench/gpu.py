"""Measure the accuracy and speed of evaluation, generation, chunks and training on a GPU: `make bench-gpu`.

    python -m bench.gpu --part correctness --part chunks
    python -m bench.gpu --small  # tiny shapes on a CPU, to check that it runs

Random weights with the shape of Qwen2.5-0.5B in bfloat16, no network. Training is compared with TRL's if
`make bench-training` has installed TRL.
"""

import argparse
import copy
import random
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, Qwen2Config, Qwen2ForCausalLM

from bench import chunks, training
from workflow_scripts.evaluation.measure_latency import pad_left
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine

VOCABULARY = 1000
SIZES: dict[str, Any] = {
    "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256, "vocab_size": VOCABULARY,
    "bos_token_id": 0, "eos_token_id": None, "pad_token_id": 0,
}  # fmt: skip
QWEN = SIZES | {
    "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
    "num_attention_heads": 14, "vocab_size": 151_936, "tie_word_embeddings": True,
    "max_position_embeddings": 4096,
}  # fmt: skip
ARCHITECTURES = {
    "gpt_neox": {}, "llama": {}, "qwen2": {}, "qwen3": {"head_dim": 64}, "gemma": {"head_dim": 64},
    "gemma2": {"head_dim": 64, "sliding_window": 32, "query_pre_attn_scalar": 64},
}  # fmt: skip


def draw_tokens(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(4, VOCABULARY) for _ in range(count)]


def draw_contexts(subjects: int, questions: int, shared: int) -> list[list[int]]:
    rng = random.Random(0)
    prefixes = [draw_tokens(rng, shared) for _ in range(subjects)]
    return [p + draw_tokens(rng, rng.randint(20, 80)) for p in prefixes for _ in range(questions)]


def score_plainly(model, requests: list) -> list[float]:
    """Return log-likelihoods, one sequence at a time."""
    scores = []
    for context, target in requests:
        ids = torch.tensor([context + target], device=model.device)
        with torch.inference_mode():
            logits = model(ids, use_cache=False).logits[0, len(context) - 1 : -1].float()
        loss = torch.nn.functional.cross_entropy(logits, ids[0, len(context) :], reduction="sum")
        scores.append(-float(loss))
    return scores


def measure_seconds(function: Callable[[], Any], rounds: int = 3) -> float:
    function()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def check_correctness(device: str, small: bool) -> None:
    """Compare the engine and transformers' own forward with float32 on the CPU."""
    requests = [(c, [7]) for c in draw_contexts(2, 4, 60)]
    for kind, keys in ARCHITECTURES.items():
        torch.manual_seed(0)
        config = AutoConfig.for_model(kind, **SIZES | keys)
        base = AutoModelForCausalLM.from_config(config).eval()
        exact = score_plainly(base, requests)
        for dtype in (torch.float32, torch.bfloat16):
            model = copy.deepcopy(base).to(device)
            # Not `model.to(dtype)`, which would also round the rotary frequencies.
            for parameter in model.parameters():
                parameter.data = parameter.data.to(dtype)
            engine = PrefixEngine(model)
            shared = [score for score, _ in engine.loglikelihoods(requests, window=256)]
            plain = score_plainly(model, requests)
            errors = [
                max(abs(a - b) for a, b in zip(scores, exact, strict=True))
                for scores in (plain, shared)
            ]
            verdict = "right" if errors[1] <= max(3 * errors[0], 1e-3) else "WRONG"
            print(
                f"{kind:<10}{dtype!s:<16}{errors[0]:>9.1e}{errors[1]:>9.1e}  {verdict}, {engine.description}"
            )


def measure_evaluation(device: str, small: bool) -> None:
    """Compare the speed of log-likelihoods and greedy answers with transformers in padded batches of 16."""
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(Qwen2Config(**SIZES if small else QWEN))
    model = model.to(device, torch.float32 if small else torch.bfloat16).eval()
    contexts = draw_contexts(1, 4, 40) if small else draw_contexts(2, 32, 600)
    new_tokens = 4 if small else 128
    batches = [contexts[start : start + 16] for start in range(0, len(contexts), 16)]
    engine = PrefixEngine(model)

    def score() -> None:
        pairs = [(context, [letter]) for context in contexts for letter in range(10, 14)]
        engine.loglikelihoods(pairs, window=model.config.max_position_embeddings)

    @torch.inference_mode()
    def score_in_batches() -> None:
        for batch in batches:
            ids, mask = pad_left(batch, device)
            model(ids, attention_mask=mask, logits_to_keep=1).logits.log_softmax(-1).cpu()

    def generate() -> None:
        requests = [GenerationRequest(context, new_tokens) for context in contexts]
        engine.generate(requests, {"do_sample": False})

    def generate_in_batches() -> None:
        for batch in batches:
            ids, mask = pad_left(batch, device)
            model.generate(ids, attention_mask=mask, max_new_tokens=new_tokens, do_sample=False)

    for name, baseline, engine_run in (
        ("letters", score_in_batches, score),
        ("generation", generate_in_batches, generate),
    ):
        before, after = measure_seconds(baseline), measure_seconds(engine_run)
        print(f"{name:<12}{before:>8.2f} s{after:>8.2f} s  {before / after:.2f} times faster")


def measure_chunks(device: str, small: bool) -> None:
    """Compare the time per decoded token of chunked models with the unchanged model's."""
    models = chunks.make_variants(*((128, 2) if small else (896, 5)))
    dtype = torch.float32 if small else torch.bfloat16
    runs = {name: chunks.build_decoding(model.to(device, dtype)) for name, model in models.items()}
    chunks.report("one token, batch 1", chunks.measure_alternating(runs, 3))


def measure_training(device: str, small: bool) -> None:
    if not find_spec("trl"):
        print("TRL is not installed: `make bench-training` installs it.")
        return
    for case in training.make_cases(24 if small else 400, 8 if small else 64):
        training.measure(training.make_model().bfloat16(), case, 1, device)


PARTS = {
    "correctness": check_correctness,
    "evaluation": measure_evaluation,
    "chunks": measure_chunks,
    "training": measure_training,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS, action="append", help="all, if left out")
    parser.add_argument("--small", action="store_true", help="tiny shapes")
    arguments = parser.parse_args()
    if not (torch.cuda.is_available() or arguments.small):
        parser.error("PyTorch sees no GPU here; --small runs all parts with tiny shapes on the CPU")
    for part in arguments.part or PARTS:
        print(f"\n{part}", flush=True)
        PARTS[part]("cuda" if torch.cuda.is_available() else "cpu", arguments.small)
