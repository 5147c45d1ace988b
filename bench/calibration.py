"""How often what the tables print holds: intervals that should hold 95%, and equal models called different.

    make bench-calibration

What is found is in percent, in the order of the numbers that a case names; "without" is what would be found
without what the error model knows. docs/benchmarks.md says what is drawn, and why some of it is out of range.
"""

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from bench import calibration_items, calibration_models, calibration_rankings
from bench.held import Held, printed

PARTS: dict[str, tuple[Callable[..., list[Held]], int]] = {
    "items": (calibration_items.rows, 150),
    "rankings": (calibration_rankings.rows, 240),
    "models": (calibration_models.rows, 100),
}


def main(seed: int, share: float) -> None:
    start = time.perf_counter()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        jobs = [
            pool.submit(rows, max(int(share * count), 2), seed) for rows, count in PARTS.values()
        ]
        print(printed([row for job in jobs for row in job.result()]))
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="Of all draws; 0.1 is to look.")
    asked = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    main(asked.seed, asked.share)
