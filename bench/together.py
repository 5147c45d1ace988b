"""How much faster trainings are that share their steps: `make bench-together`.

The same model, tasks, steps and adapters, on two threads in float32: all tasks together, against one after
the other by the usual trainer. Tasks are of different lengths (median 15 to 60 tokens) and equally many
samples, in batches of 8, with the published adapters (rank 8, dropout 0.1). Both ways take turns within a
round; what is printed is the median over the rounds of the ratio within a round. Loading, evaluations
and saved states are in neither.
"""

import argparse
import copy
import statistics
import tempfile
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from bench.training import VOCABULARY, random_samples
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.run import train
from workflow_scripts.training.together.learner import Lesson
from workflow_scripts.training.together.run import train_together

SEED, BATCH = 0, 8
# Name, width, layers, tasks, steps of each, and what is wanted.
CASES = {
    "miniature-8": (128, 3, 8, 12, 2.5),
    "miniature-24": (128, 3, 24, 12, 3.0),
    "smollm-8": (576, 30, 8, 2, 1.0),
}


def model_of(width: int, layers: int) -> Qwen2ForCausalLM:
    torch.manual_seed(SEED)
    config = Qwen2Config(
        vocab_size=VOCABULARY, hidden_size=width, intermediate_size=8 * width // 3,
        num_hidden_layers=layers, num_attention_heads=width // 64, num_key_value_heads=width // 64,
        max_position_embeddings=1024, bos_token_id=0, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return Qwen2ForCausalLM(config)


def lessons(tasks: int, steps: int) -> list[Lesson]:
    keys = TrainingKeys(
        method="lora", lora_rank=8, lora_alpha=32.0, lora_dropout=0.1, lora_targets=("all-linear",),
        learning_rate=1e-4, schedule="linear", warm_up=0.0, weight_decay=0.01, batch_size=BATCH,
        max_length=1024, save_every=100_000,
    )  # fmt: skip
    rng = np.random.default_rng(SEED)
    made = []
    for task in range(tasks):
        usual = np.log(15) + task / max(1, tasks - 1) * np.log(4)
        lengths = np.clip(np.exp(rng.normal(usual, 0.4, BATCH * steps)).astype(int), 4, 512)
        samples = random_samples(lengths, rng)
        made.append(Lesson(f"{task}", samples, keys, SEED, {}, lambda model: {"acc": 0.0}, ("acc", True)))  # fmt: skip
    return made


def seconds_together(base, asked: list[Lesson], folder: Path) -> float:
    found = train_together(lambda _: copy.deepcopy(base), asked, folder, device="cpu", at_once=len(asked))  # fmt: skip
    assert found is not None
    begun = time.perf_counter()
    for name, outcome in found:
        assert not isinstance(outcome, Exception), (name, outcome)
    return time.perf_counter() - begun


def seconds_apart(base, asked: list[Lesson], folder: Path) -> float:
    """From the first step of each to its last, as the trainer itself reports it."""
    total = 0.0
    for lesson in asked:
        trained = train(
            lambda _: copy.deepcopy(base), lesson.samples, None, folder / lesson.name,
            keys=lesson.keys, device="cpu", seed=lesson.seed, belongs_to={}, padding_token=0,
        )  # fmt: skip
        total += trained.speed["step_seconds"]
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    for case in asked.cases:
        width, layers, tasks, steps, wanted = CASES[case]
        base, work = model_of(width, layers), lessons(tasks, steps)
        tokens = sum(int(lesson.samples.lengths.sum()) for lesson in work)
        ratios, rates = [], []
        for _ in range(asked.rounds):
            with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
                shared = seconds_together(base, work, Path(folder, "together"))
                apart = seconds_apart(base, work, Path(folder, "apart"))
            ratios.append(apart / shared)
            rates.append((tokens / shared, tokens / apart))
        shared, apart = (statistics.median(column) for column in zip(*rates, strict=True))
        print(
            f"{case}: {tasks} tasks together {shared:,.0f} tokens a second, one after the other"
            f" {apart:,.0f}: {statistics.median(ratios):.2f} times"
            f" ({min(ratios):.2f} to {max(ratios):.2f}; wanted {wanted})",
            flush=True,
        )


if __name__ == "__main__":
    main()
