"""Measure the speedup of the prefix engine over the harness's own batches.

    python -m bench.evaluation

One process, two threads, float32 and bfloat16; both alternate within rounds, so that other load affects both. Timing
includes tokenisation. Requests have the shape of MMLU's: examples shared by the questions of a subject, and questions
of 40 to 120 tokens.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from bench.exams import VOCABULARY, Exams, Pair

WINDOW = 1024
NEW_TOKENS = 16
BATCH_SIZES = (2, 4, 8, 16, 32)
MAX_PROBE_REQUESTS = 12  # to find the harness's fastest batch size


@dataclass(frozen=True)
class Shape:
    """The shape of a model with random weights and of its requests."""

    model: dict[str, int]
    prompt: int  # tokens
    questions: int  # per subject; real subjects have up to a hundred times as many
    cases: tuple[str, ...]
    vocabulary: int = VOCABULARY


SHAPES = {
    "short": Shape(
        {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 4,
         "num_attention_heads": 6, "num_key_value_heads": 2},
        600, 12, ("letters", "endings", "nothing shared", "generation"),
    ),
    "long": Shape(
        {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4,
         "num_attention_heads": 4, "num_key_value_heads": 2},
        700, 24, ("letters", "endings"),
    ),
    # The shape of SmolLM2-135M.
    "deep": Shape(
        {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
         "num_attention_heads": 9, "num_key_value_heads": 3},
        700, 24, ("letters", "endings"), vocabulary=49152,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    name: str
    target: float  # speedup
    requests: list
    harness: Callable[[list], list]  # maps requests to answers
    engine: Callable[[list], list]


def main(shape: Shape, dtype: str, rounds: int, seed: int, threads: int) -> None:
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from workflow_scripts.evaluation.prefix.answer import GenerationRequest
    from workflow_scripts.evaluation.prefix_lm import PrefixLM
    from workflow_scripts.evaluation.tokenizer_cache import TokenizerCache

    config = Qwen2Config(
        **shape.model, vocab_size=shape.vocabulary, max_position_embeddings=WINDOW,
        bos_token_id=0, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model = Qwen2ForCausalLM(config).eval().to(getattr(torch, dtype))
    exams = Exams(seed, shape.prompt, shape.questions)
    harness = HFLM(pretrained=model, tokenizer=exams.tokenizer, batch_size=8)
    prefix = PrefixLM(pretrained=model, tokenizer=exams.tokenizer, batch_size=8)
    engine = prefix.engine
    assert engine is not None, "the model has no engine"
    print(f"seed {seed}, {threads} threads, {model.num_parameters():,} parameters, {dtype}")
    print(f"prompts of {shape.prompt} tokens, {shape.questions} questions a subject")

    def score(lm) -> Callable[[list[Pair]], list]:
        return lambda pairs: lm.loglikelihood(
            [Instance("loglikelihood", {}, pair, 0) for pair in pairs], disable_tqdm=True
        )

    def score_uncached(pairs: list[Pair]) -> list:
        prefix.tokenizer_cache = TokenizerCache(exams.tokenizer)  # empty in each round
        return score(prefix)(pairs)

    def generate_in_batches(contexts: list) -> list:
        return _generate(model, contexts, harness.batch_size)

    def generate_shared(contexts: list) -> list:
        return engine.generate(
            [GenerationRequest(context, NEW_TOKENS) for context in contexts], {"do_sample": False}
        )

    makers: dict[str, Callable[[], Case]] = {
        "letters": lambda: Case(
            "letters", 4, exams.make_letters(2), score(harness), score_uncached
        ),
        "endings": lambda: Case("endings", 9, exams.make_endings(), score(harness), score_uncached),
        "nothing shared": lambda: Case(
            "nothing shared", 1, exams.make_unshared(), score(harness), score_uncached
        ),
        "generation": lambda: Case(
            "generation",
            2,
            exams.encode(exams.make_contexts(2)),
            generate_in_batches,
            generate_shared,
        ),
    }
    cases = [makers[name]() for name in shape.cases]
    batch_sizes = {
        case.name: _find_batch_size(harness, case) for case in cases if case.name != "endings"
    }
    batch_sizes["endings"] = batch_sizes["letters"]  # rows of the same length
    times: dict[str, list[tuple[float, float]]] = {case.name: [] for case in cases}
    differences = dict.fromkeys(times, 0.0)
    different_flags = dict.fromkeys(times, 0)
    for _ in range(rounds):
        for case in cases:
            harness.batch_size_per_gpu = batch_sizes[case.name]
            harness_seconds, expected = _measure_seconds(case.harness, case.requests)
            engine_seconds, answers = _measure_seconds(case.engine, case.requests)
            times[case.name].append((harness_seconds, engine_seconds))
            differences[case.name] = max(
                differences[case.name], _compute_difference(answers, expected)
            )
            different_flags[case.name] += _count_different_flags(answers, expected)
    print(
        f"{'case':<16}{'target':>7}{'median':>8}{'from':>7}{'to':>7}{'HFLM s':>8}{'batch':>6}"
        f"{'ours s':>8}{'differ':>9}{'flags':>6}"
    )
    for case in cases:
        ratios = [
            harness_seconds / engine_seconds for harness_seconds, engine_seconds in times[case.name]
        ]
        print(
            f"{case.name:<16}{case.target:>7.1f}{statistics.median(ratios):>8.2f}"
            f"{min(ratios):>7.2f}{max(ratios):>7.2f}"
            f"{statistics.median(t for t, _ in times[case.name]):>8.2f}{batch_sizes[case.name]:>6}"
            f"{statistics.median(t for _, t in times[case.name]):>8.2f}"
            f"{differences[case.name]:>9.1e}{different_flags[case.name]:>6}"
        )
    print(
        "median, from, to: the harness's time over ours. differ: the largest difference of a score, or"
        " the share of differing texts; flags: greedy flags that differ."
    )


def _measure_seconds(function: Callable[[list], list], requests: list) -> tuple[float, list]:
    start = time.perf_counter()
    result = function(requests)
    return time.perf_counter() - start, result


def _find_batch_size(harness, case: Case) -> int:
    """Find HFLM's fastest batch size on a part of the requests."""
    probe = case.requests[:: max(1, len(case.requests) // MAX_PROBE_REQUESTS)]
    times: dict[int, float] = {}
    for size in BATCH_SIZES:
        harness.batch_size_per_gpu = size
        times[size] = _measure_seconds(case.harness, probe)[0]
        if times[size] > 1.2 * min(times.values()):
            break
    return min(times, key=times.__getitem__)


def _generate(model, contexts: list[list[int]], batch_size: int) -> list[list[int]]:
    """Generate with transformers, padded on the left, longest prompts first."""
    answers: dict[int, list[int]] = {}
    order = sorted(range(len(contexts)), key=lambda index: -len(contexts[index]))
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        longest = len(contexts[batch[0]])
        ids = torch.zeros(len(batch), longest, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, index in enumerate(batch):
            ids[row, longest - len(contexts[index]) :] = torch.tensor(contexts[index])
            mask[row, longest - len(contexts[index]) :] = 1
        new = model.generate(
            ids, attention_mask=mask, max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0
        )
        answers.update(zip(batch, new[:, longest:].tolist(), strict=True))
    return [answers[index] for index in range(len(contexts))]


def _compute_difference(answers: list, expected: list) -> float:
    if isinstance(answers[0], tuple):
        return max(abs(a[0] - b[0]) for a, b in zip(answers, expected, strict=True))
    return sum(a != b for a, b in zip(answers, expected, strict=True)) / len(answers)


def _count_different_flags(answers: list, expected: list) -> int:
    if not isinstance(answers[0], tuple):
        return 0
    return sum(a[1] != b[1] for a, b in zip(answers, expected, strict=True))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, action="append", help="all, if left out")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), action="append")
    parser.add_argument("--questions", type=int, help="a subject; left out, those of the shape")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    for name in arguments.shape or SHAPES:
        changes = {"questions": arguments.questions} if arguments.questions else {}
        shape = replace(SHAPES[name], **changes)
        for dtype in arguments.dtype or ("float32", "bfloat16"):
            main(shape, dtype, arguments.rounds, arguments.seed, arguments.threads)
