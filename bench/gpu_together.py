"""Trainings that share their steps beside the same ones after one another, as train-before-test has them."""

import statistics

from datasets import disable_progress_bars

from bench.gpu_setting import Setting, Table
from bench.together import apart, lessons, together, took, with_a_step_each

# How many times as fast together is to be, by shape.
WANTED = {"0.5B": 5.0, "7B": 2.0}
_TASKS, _STEPS, _ROUNDS = 24, 4, 2


def run(setting: Setting) -> list[Table]:
    disable_progress_bars()
    tasks, steps, rounds = (3, 1, 1) if setting.small else (_TASKS, _STEPS, _ROUNDS)
    table = Table(
        "Trainings that share their steps",
        f"{tasks} tasks, adapters of rank 8 where PEFT puts them by itself, {steps} steps of 8"
        " short samples each behind"
        " the first, set-up not counted; both ways take turns, and the ratio is the median of those within a round."
        f" Wanted: {', '.join(f'{times:g} times at {shape}' for shape, times in WANTED.items())}.",
        ("shape", "one after the other t/s", "together t/s", "ratio", "set-up apart s",
         "set-up together s", "peak GB"),
    )  # fmt: skip
    for shape in setting.shapes:
        model = setting.model(shape)
        work = lessons(tasks, steps + 1, model.config.vocab_size, ("usual",))
        tokens = sum(int(one.samples.lengths.sum()) for one in work) * steps / (steps + 1)
        for way in (together, apart):  # the first one to run a model pays for more than its steps
            took(way, model, with_a_step_each(work[:1]))
        turns = [_turn(setting, model, work) for _ in range(rounds)]
        first, more, firsts, mores = (
            statistics.median(turn[at] for turn, _ in turns) for at in range(4)
        )
        ratio = statistics.median(turn[3] / turn[1] for turn, _ in turns)
        table.rows.append(
            (shape, tokens / mores, tokens / more, ratio, firsts, first, turns[-1][1])
        )
        del model
    return [table]


def _turn(setting: Setting, model, work) -> tuple[tuple[float, ...], float | None]:
    """Seconds together with a step each, and of the further steps; the same apart; and the peak of memory together."""
    setting.forget_peak()
    shared = _seconds(together, model, work)
    peak = setting.peak_gb()
    return (*shared, *_seconds(apart, model, work)), peak


def _seconds(way, model, work) -> tuple[float, float]:
    first = float(took(way, model, with_a_step_each(work))[0])
    return first, float(took(way, model, work)[0]) - first
