"""Measure the speedup of the trainer over TRL's: `make bench-training`.

Both have the same model, samples, steps and adapters, in one process on two threads, in float32 and
in bfloat16 (weights and autocast; adapters in float32). TRL's SFTTrainer has the settings of the
published LM-Harmony: batches of 8, padded, up to 1024 tokens, loss over the whole text, LoRA of rank 8
with dropout 0.1. Runs alternate within a round; the printed speedup is the median over the rounds of
the ratio within a round.

short   lengths like MNLI's: log-normal, median 35 tokens
blocks  full blocks of 1024 tokens, for which packing gains nothing
deep    a third of short's samples, with a model of the shape of SmolLM2-135M
"""

import argparse
import copy
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import torch
from datasets import Dataset, disable_progress_bars
from transformers import PrinterCallback, Qwen2Config, Qwen2ForCausalLM, TrainerCallback

from bench.evaluation import SHAPES
from workflow_scripts.grid.shared_model import copy_sharing_weights
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.packing import EpochSampler
from workflow_scripts.training.run import train
from workflow_scripts.training.samples import Sample, Samples, iterate_batches
from workflow_scripts.training.spec import TrainingSpec
from workflow_scripts.training.trainer import PackedTrainer

VOCABULARY, SEED = 6144, 0
SMALL = {"vocab_size": VOCABULARY, "hidden_size": 256, "intermediate_size": 1024}
SMALL |= {"num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2}
DEEP = SHAPES["deep"].model | {"vocab_size": SHAPES["deep"].vocabulary, "tie_word_embeddings": True}
BATCH_SIZE, MAX_LENGTH, WARM_UP_STEPS = 8, 1024, 2
LORA: dict[str, Any] = {"r": 8, "lora_alpha": 32, "lora_dropout": 0.1}
TARGET_MODULES = ["q_proj", "v_proj"]
LEARNING_RATE = 2e-5


@dataclass(frozen=True)
class Case:
    name: str
    target: float
    samples: Samples

    @property
    def steps(self) -> list[list[int]]:
        """Return the samples of each step, for both trainers."""
        return list(iterate_batches(EpochSampler(len(self.samples), SEED), BATCH_SIZE))

    @property
    def timed_tokens(self) -> int:
        return sum(int(self.samples.lengths[step].sum()) for step in self.steps[WARM_UP_STEPS:])


@dataclass
class Clock(TrainerCallback):
    """Time the steps from the end of the warm-up to the end of the last step."""

    started: float = 0.0
    seconds: float = 0.0

    def on_step_end(self, args, state, control, **kwargs):
        if torch.cuda.is_available() and state.global_step in (WARM_UP_STEPS, state.max_steps):
            torch.cuda.synchronize()
        now = time.perf_counter()
        if state.global_step == WARM_UP_STEPS:
            self.started = now
        elif state.global_step == state.max_steps:
            self.seconds = now - self.started


def draw_samples(
    lengths: np.ndarray, rng: np.random.Generator, vocabulary: int = VOCABULARY
) -> Samples:
    samples = []
    for length in lengths:
        loss_mask = np.ones(length, bool)
        loss_mask[0] = False
        samples.append(Sample(rng.integers(4, vocabulary, length).astype(np.int32), loss_mask))
    return Samples.from_list(samples)


def make_cases(short: int, blocks: int) -> list[Case]:
    rng = np.random.default_rng(SEED)
    lengths = np.clip(np.exp(rng.normal(np.log(35), 0.5, short)).astype(int), 4, MAX_LENGTH)
    return [
        Case("short", 1.7, draw_samples(lengths, rng)),
        Case("blocks", 1.0, draw_samples(np.full(blocks, MAX_LENGTH), rng)),
    ]


def make_model(shape: dict[str, int] = SMALL) -> Qwen2ForCausalLM:
    torch.manual_seed(SEED)
    config = Qwen2Config(
        **shape, max_position_embeddings=MAX_LENGTH, bos_token_id=0, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return Qwen2ForCausalLM(config)


def get_precision(base) -> Literal["float32", "bfloat16"]:
    return "bfloat16" if base.dtype == torch.bfloat16 else "float32"


def train_with_chorus(base, case: Case, clock: Clock, device: str) -> None:
    """Train with our trainer, as in training before a test."""
    keys = TrainingKeys(
        method="lora",
        lora_rank=LORA["r"],
        lora_alpha=LORA["lora_alpha"],
        lora_dropout=LORA["lora_dropout"],
        lora_target_modules=tuple(TARGET_MODULES),
        learning_rate=LEARNING_RATE,
        weight_decay=0.01,
        lr_scheduler="constant",
        warmup_ratio=0.0,
        batch_size=BATCH_SIZE,
        micro_batch_size=BATCH_SIZE,
        max_length=MAX_LENGTH,
        save_steps=10_000,
        precision=get_precision(base),
    )
    with tempfile.TemporaryDirectory() as folder, _time_trainer(clock):
        train(
            lambda dtype: copy_sharing_weights(base),
            TrainingSpec(case.samples, keys, SEED, {}, device),
            Path(folder, "state"),
        )


def train_with_trl(base, case: Case, clock: Clock, device: str) -> None:
    """Train with TRL in the published settings of LM-Harmony, on the same samples in the same order."""
    from peft import LoraConfig
    from torch.utils.data import SequentialSampler
    from trl import SFTConfig, SFTTrainer

    class SequentialTrainer(SFTTrainer):
        def _get_train_sampler(self, dataset=None):
            return SequentialSampler(self.train_dataset)

    rows = [case.samples[n].tokens.tolist() for step in case.steps for n in step]
    with tempfile.TemporaryDirectory() as folder:
        trainer = SequentialTrainer(
            copy.deepcopy(base),
            SFTConfig(
                output_dir=folder, per_device_train_batch_size=BATCH_SIZE, num_train_epochs=1,
                packing=False, save_strategy="no", report_to=[], use_cpu=device == "cpu",
                bf16=get_precision(base) == "bfloat16", activation_checkpointing=False, disable_tqdm=True,
                lr_scheduler_type="constant", learning_rate=LEARNING_RATE, weight_decay=0.01,
                max_length=MAX_LENGTH,
            ),
            train_dataset=Dataset.from_list([{"input_ids": row} for row in rows]),
            processing_class=_make_tokenizer(),
            peft_config=LoraConfig(task_type="CAUSAL_LM", target_modules=TARGET_MODULES, **LORA),
            callbacks=[clock],
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.train()


def _time_trainer(clock: Clock) -> AbstractContextManager:
    """Add the clock to the callbacks of each PackedTrainer built in the context."""
    real_init: Callable = PackedTrainer.__init__

    def init(self, *args, callbacks, **kwargs):
        real_init(self, *args, callbacks=[*callbacks, clock], **kwargs)

    return patch.object(PackedTrainer, "__init__", init)


def _make_tokenizer():
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<pad>": 0, "<end>": 1}, unk_token="<pad>"))
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<end>", unk_token="<pad>"
    )


def measure(base, case: Case, rounds: int, device: str = "cpu") -> None:
    ratios = []
    speeds: dict[str, list[float]] = {"TRL": [], "ours": []}
    for _ in range(rounds):
        per_second = {}
        for name, run in (("TRL", train_with_trl), ("ours", train_with_chorus)):
            clock = Clock()
            with redirect_stdout(StringIO()):
                run(base, case, clock, device)
            per_second[name] = case.timed_tokens / clock.seconds
            speeds[name].append(per_second[name])
        ratios.append(per_second["ours"] / per_second["TRL"])
    print(
        f"{case.name:<8}{case.timed_tokens:>8}{statistics.median(speeds['TRL']):>9.0f}"
        f"{statistics.median(speeds['ours']):>9.0f}{statistics.median(ratios):>8.2f}"
        f"{min(ratios):>7.2f}{max(ratios):>7.2f}{case.target:>8.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--short", type=int, default=240, help="samples of the first case")
    parser.add_argument("--blocks", type=int, default=32, help="samples of the second")
    # On a shared machine threads block one another, and one thread measures better.
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    disable_progress_bars()
    warnings.filterwarnings("ignore", category=FutureWarning)
    cases = make_cases(arguments.short, arguments.blocks)
    deep = replace(make_cases(arguments.short // 3, 1)[0], name="deep")
    runs = [(SMALL, cases), (DEEP, [deep])]
    for dtype, (shape, shape_cases) in product((torch.float32, torch.bfloat16), runs):
        base = make_model(shape).to(dtype)
        print(f"{base.num_parameters():,} parameters, {dtype}, {torch.get_num_threads()} threads")
        print(
            f"{'case':<8}{'tokens':>8}{'TRL t/s':>9}{'ours t/s':>9}{'ratio':>8}{'from':>7}{'to':>7}"
            f"{'target':>8}"
        )
        for case in shape_cases:
            rounds = arguments.rounds if case.name == "short" else max(3, arguments.rounds // 2)
            measure(base, case, rounds)
    print("tokens: of the samples, without padding, in the steps that are timed.")


if __name__ == "__main__":
    main()
