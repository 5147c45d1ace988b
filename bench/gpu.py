"""What this project is worth on a GPU: `make bench-gpu`, or some parts of it by name.

    python -m bench.gpu                               # all parts, ten minutes each at most
    python -m bench.gpu correctness training          # some
    python -m bench.gpu --small --report /tmp/gpu.md  # on a CPU, with tiny shapes: to see that it runs

Random weights at the shapes of real models, no network. Writes a report in Markdown, and beside it a JSON
file. Each part runs in a process of its own, so that an
error of the GPU in one leaves the others alone.
"""

import argparse
import importlib
import multiprocessing
import sys
import time
import traceback
from pathlib import Path
from queue import Empty

import torch

from bench import gpu_report
from bench.gpu_setting import Setting, Table

PARTS = ("correctness", "evaluation", "training", "together", "chunks")
_LIMIT = 600  # seconds of a part


def main(parts: list[str], setting: Setting, report: Path) -> None:
    found: dict[str, list[Table] | str] = {}
    for part in parts:
        print(f"{part} ...", flush=True)
        # One that runs to see that it runs needs no second PyTorch.
        found[part] = _measured(part, setting) if setting.small else _apart(part, setting)
        gpu_report.write(setting, found, report)  # what a later part breaks is not this one's
    print(f"{report}\n{report.with_suffix('.json')}")
    failed = [part for part, tables in found.items() if isinstance(tables, str)]
    wrong = [
        row
        for tables in found.values()
        if not isinstance(tables, str)
        for table in tables
        for row in table.rows
        if "NO" in row
    ]
    if failed or wrong:
        sys.exit(
            f"Not all is well: {', '.join(failed + [row[0] for row in wrong])}; see the report."
        )


def _measured(part: str, setting: Setting) -> list[Table] | str:
    try:
        return importlib.import_module(f"bench.gpu_{part}").run(setting)
    except Exception as error:  # any: the other parts are measured all the same
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"


def _apart(part: str, setting: Setting) -> list[Table] | str:
    spawn = multiprocessing.get_context("spawn")
    answer = spawn.Queue()
    process = spawn.Process(target=_answer, args=(part, setting, answer))
    process.start()
    until = time.monotonic() + _LIMIT
    try:
        while time.monotonic() < until:
            alive = process.is_alive()  # asked first: one that has ended may have answered
            try:
                return answer.get(timeout=2)
            except Empty:
                if not alive:
                    return f"its process ended with {process.exitcode}"
        return f"it took longer than {_LIMIT // 60} minutes"
    finally:
        process.terminate()
        process.join()


def _answer(part: str, setting: Setting, answer) -> None:
    answer.put(_measured(part, setting))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--small", action="store_true", help="tiny shapes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, default=Path("bench-gpu.md"))
    arguments = parser.parse_args()
    if unknown := [part for part in arguments.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; expected some of {', '.join(PARTS)}")
    has_gpu = torch.cuda.is_available()
    if not (has_gpu or arguments.small):
        parser.error("PyTorch sees no GPU here; --small runs all parts with tiny shapes on the CPU")
    main(
        arguments.parts or list(PARTS),
        Setting("cuda" if has_gpu else "cpu", arguments.small, arguments.seed),
        arguments.report,
    )
