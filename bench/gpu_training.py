"""LoRA training beside TRL's where it is installed: speed, kernels a step, what is idle, and what stays in memory."""

import gc
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from datasets import disable_progress_bars

from bench.gpu_setting import Setting, Table
from bench.launches import Launches
from bench.training import (
    BATCH,
    LONGEST,
    TARGETS,
    WARM_UP,
    Case,
    Clock,
    ours,
    random_samples,
    theirs,
)
from workflow_scripts.planning.device import FROZEN_FLOPS, half_peak
from workflow_scripts.training.run import free_memory

WANTED = 1.5  # over TRL, on short samples
_SHORT, _BLOCKS, _WATCHED = 400, 64, 5


class Watching(Clock):
    """Counts the kernels of a few steps behind the warm-up, and on a GPU how long they kept it busy."""

    def __init__(self, device: str):
        super().__init__()
        self.device, self.first, self.steps = device, 0, 0
        self.kernels: float = 0.0
        self.busy: float | None = None
        self._watch: Any = None

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == WARM_UP:
            self.first = state.global_step
            if self.device == "cuda":
                from torch.profiler import ProfilerActivity, profile

                torch.cuda.synchronize()
                self._watch = profile(activities=[ProfilerActivity.CUDA])
            else:
                self._watch = Launches()
            self._watch.__enter__()

    def on_step_end(self, args, state, control, **kwargs):
        last = min(self.first + _WATCHED, state.max_steps)
        if self._watch is not None and state.global_step == last:
            if self.device == "cuda":
                torch.cuda.synchronize()
            self._watch.__exit__(None, None, None)
            self._count(last - self.first)
            self._watch = None
        super().on_step_end(args, state, control, **kwargs)

    def _count(self, steps: int) -> None:
        if isinstance(self._watch, Launches):
            self.kernels = self._watch.count / steps
            return
        events = [
            e for e in self._watch.events() if e.device_type == torch.autograd.DeviceType.CUDA
        ]
        self.kernels = len(events) / steps
        first = min(event.time_range.start for event in events)
        last = max(event.time_range.end for event in events)
        spans = sum(event.time_range.elapsed_us() for event in events)
        self.busy = spans / (last - first)


def run(setting: Setting) -> list[Table]:
    disable_progress_bars()
    speed = Table(
        "LoRA training",
        f"Adapters of rank 8 in {' and '.join(TARGETS)}, {BATCH} samples a step. short: lengths like MNLI's, half of"
        f" them up to 35 tokens; blocks: all as long as may be, {LONGEST} tokens in the full"
        " form. Kernels are those of a step (without a GPU the"
        " operators that compute); busy is the share of the time that the GPU computed, as the profiler saw it;"
        " utilisation of the largest shape on blocks is the config's cluster.utilisation. Wanted"
        f" on short samples at 0.5B: {WANTED:g} times TRL's.",
        ("shape", "TRL t/s", "ours t/s", "ratio", "kernels", "busy", "peak GB", "utilisation"),
    )
    memory = Table(
        "Memory between two trainings",
        "Held by tensors beside the model before a training, right after it, and once Python has collected: what"
        " is not zero stays for the next task of the job.",
        ("shape", "after, MB", "collected, MB"),
    )
    for shape in setting.shapes:
        model = setting.model(shape)
        parameters = sum(p.numel() for p in model.parameters())
        for case in _cases(setting):
            name = f"{shape} {case.name}"
            faster = _of_trl(model, case, setting) if find_spec("trl") else None
            own = _tokens_per_second(ours, model, case, setting)
            watching = Watching(setting.device)
            before = _held(setting)
            setting.forget_peak()
            ours(model, case, watching, setting.device)
            after = _held(setting) - before
            gc.collect()
            memory.rows.append((name, after / 1e6, (_held(setting) - before) / 1e6))
            ratio = own / faster if faster else None
            peak = setting.peak_gb()
            promised = half_peak(setting.name)
            used = FROZEN_FLOPS * parameters * own / promised if promised else None
            speed.rows.append(
                (name, faster, own, ratio, watching.kernels, watching.busy, peak, used)
            )
    return [speed, memory]


def _cases(setting: Setting) -> list[Case]:
    rng = np.random.default_rng(setting.seed)
    short, blocks = (32, 24) if setting.small else (_SHORT, _BLOCKS)
    lengths = np.clip(np.exp(rng.normal(np.log(35), 0.5, short)).astype(int), 4, LONGEST)
    length = 64 if setting.small else LONGEST
    return [
        Case("short", WANTED, random_samples(lengths, rng)),
        Case("blocks", 1.0, random_samples(np.full(blocks, length), rng)),
    ]


def _tokens_per_second(train, model, case: Case, setting: Setting) -> float:
    clock = Clock()
    train(model, case, clock, setting.device)
    return case.timed_tokens / clock.seconds


def _of_trl(model, case: Case, setting: Setting) -> float | None:
    """None where its padded batches, with all their logits, have no room: what is ours is measured all the same."""
    try:
        return _tokens_per_second(theirs, model, case, setting)
    except torch.OutOfMemoryError:
        pass  # what the error holds is let go first
    free_memory()
    return None


def _held(setting: Setting) -> int:
    if setting.device == "cuda":
        torch.cuda.synchronize()
        return torch.cuda.memory_allocated()
    storages = {
        tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes()
        for tensor in gc.get_objects()
        if issubclass(type(tensor), torch.Tensor)  # others compute something when they are asked
    }
    return sum(storages.values())
