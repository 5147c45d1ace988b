"""How much faster trainings are that share their steps: `make bench-together`.

The same model, tasks, steps and adapters, on two threads in float32: all tasks together, against one after
the other by the usual trainer. Tasks are of different lengths (median 15 to 60 tokens) and equally many
samples, in batches of 8, with adapters of rank 8 and dropout 0.1 in all linear layers. Of either way the
trainings are run whole and with one step each, and what the further steps took is the difference: all that
belongs to a step is in it, and set-up and the evaluation at the end are not. Both ways take turns within a
round; what is printed is the median over the rounds of the ratio within a round, by the clock and by what
the processors did. TRL's trainer, one adapter after the other, takes turns with them where it is installed.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import numpy as np
import torch
from datasets import disable_progress_bars
from transformers import Qwen2Config, Qwen2ForCausalLM

from bench.training import ADAPTERS, random_samples, train_by_trl
from workflow_scripts.grid.base import around_the_same_weights
from workflow_scripts.miniature.tokenizer import EMBEDDING_ROWS
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.run import train
from workflow_scripts.training.together.run import train_together

SEED, BATCH = 0, 8
# Name, width, layers, vocabulary, tasks, further steps of each, and what is wanted.
CASES = {
    "miniature-8": (128, 3, EMBEDDING_ROWS, 8, 12, 2.5),
    "miniature-24": (128, 3, EMBEDDING_ROWS, 24, 12, 3.0),
    "narrow-24": (64, 24, EMBEDDING_ROWS, 24, 4, 3.0),
    "smollm-8": (576, 30, 49_152, 8, 1, 1.0),
}


def model_of(width: int, layers: int, vocabulary: int) -> Qwen2ForCausalLM:
    torch.manual_seed(SEED)
    config = Qwen2Config(
        vocab_size=vocabulary, hidden_size=width, intermediate_size=8 * width // 3 // 16 * 16,
        num_hidden_layers=layers, num_attention_heads=width // 64, num_key_value_heads=width // 64,
        max_position_embeddings=1024, bos_token_id=0, eos_token_id=1, pad_token_id=0,
        tie_word_embeddings=True,
    )  # fmt: skip
    return Qwen2ForCausalLM(config)


def lessons(
    tasks: int, steps: int, vocabulary: int, targets: tuple[str, ...] = ("all-linear",)
) -> list[Lesson]:
    keys = TrainingKeys(
        method="lora", lora_rank=8, lora_alpha=32.0, lora_dropout=0.1, lora_targets=targets,
        learning_rate=1e-4, schedule="linear", warm_up=0.0, weight_decay=0.01, batch_size=BATCH,
        max_length=1024, save_every=100_000,
    )  # fmt: skip
    rng = np.random.default_rng(SEED)
    made = []
    for task in range(tasks):
        usual = np.log(15) + task / max(1, tasks - 1) * np.log(4)
        lengths = np.clip(np.exp(rng.normal(usual, 0.4, BATCH * steps)).astype(int), 4, 512)
        samples = random_samples(lengths, rng, vocabulary)
        made.append(
            Lesson(
                samples,
                keys,
                SEED,
                {},
                score=lambda model: {"acc": 0.0},
                best_by=("acc", True),
                name=f"{task}",
            )
        )
    return made


def with_a_step_each(work: list[Lesson]) -> list[Lesson]:
    return [replace(one, keys=one.keys.model_copy(update={"max_steps": 1})) for one in work]


def together(base, asked: list[Lesson], folder: Path) -> None:
    found = train_together(
        lambda _: around_the_same_weights(base), asked, folder, device=base.device.type, at_once=len(asked)
    )  # fmt: skip
    if found is None:
        raise ValueError("this model's trainings cannot share their steps; the trial row says why")
    for name, outcome in found:
        assert not isinstance(outcome, Exception), (name, outcome)


def apart(base, asked: list[Lesson], folder: Path) -> None:
    for lesson in asked:
        train(
            lambda _: around_the_same_weights(base), lesson, folder / lesson.name,
            device=base.device.type, padding_token=0,
        )  # fmt: skip


def by_trl(base, asked: list[Lesson], _: Path) -> None:
    for lesson in asked:
        steps = lesson.keys.max_steps or len(lesson.samples)
        some = range(min(len(lesson.samples), steps * BATCH))
        rows = [lesson.samples[at].tokens.tolist() for at in some]
        rate = {"learning_rate": 1e-4, "lr_scheduler_type": "linear"}
        train_by_trl(base, rows, {"target_modules": "all-linear", **ADAPTERS}, rate, [])


def took(way: Callable, base, asked: list[Lesson]) -> np.ndarray:
    """Seconds by the clock and of the processors."""
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        begun = time.perf_counter(), time.process_time()
        way(base, asked, Path(folder))
        return np.array([time.perf_counter() - begun[0], time.process_time() - begun[1]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    disable_progress_bars()
    warnings.filterwarnings("ignore", category=FutureWarning)
    for case in asked.cases:
        width, layers, vocabulary, tasks, steps, wanted = CASES[case]
        base, work = model_of(width, layers, vocabulary), lessons(tasks, steps + 1, vocabulary)
        short = with_a_step_each(work)
        tokens = sum(int(lesson.samples.lengths.sum()) for lesson in work) * steps / (steps + 1)
        ways = (together, apart, *((by_trl,) if find_spec("trl") else ()))
        for way in ways:  # the first one to run a model pays for more than its steps
            took(way, base, short[:1])
        rounds = []
        for _ in range(asked.rounds):
            set_up = [took(way, base, short) for way in ways]
            whole = [took(way, base, work) for way in ways]
            further = [both - first for both, first in zip(whole, set_up, strict=True)]
            rounds.append([*further, *set_up])
        clock, processors = np.moveaxis(np.array(rounds), 2, 0)
        ratios, of_processors = (found[:, 1] / found[:, 0] for found in (clock, processors))
        shared, single = np.median(clock[:, :2], axis=0)
        first, firsts = np.median(clock[:, len(ways) : len(ways) + 2], axis=0)
        print(
            f"{case}: {tasks} tasks together {tokens / shared:,.0f} tokens a second, one after the other"
            f" {tokens / single:,.0f}: {np.median(ratios):.2f} times"
            f" ({ratios.min():.2f} to {ratios.max():.2f}; wanted {wanted}); seconds of processors"
            f" {np.median(processors[:, 0]):.1f} and {np.median(processors[:, 1]):.1f}:"
            f" {np.median(of_processors):.2f} times ({of_processors.min():.2f} to {of_processors.max():.2f})."
            f" With a step each and the set-up {first:.1f} s and {firsts:.1f} s.",
            flush=True,
        )
        if by_trl in ways:
            by_clock, by_processors = (found[:, 2] / found[:, 0] for found in (clock, processors))
            print(
                f"{case}: TRL, one adapter after the other, {tokens / np.median(clock[:, 2]):,.0f} tokens a"
                f" second; together is {np.median(by_clock):.2f} times as fast ({by_clock.min():.2f} to"
                f" {by_clock.max():.2f}), and in seconds of processors {np.median(by_processors):.2f} times"
                f" ({by_processors.min():.2f} to {by_processors.max():.2f}).",
                flush=True,
            )


if __name__ == "__main__":
    main()
