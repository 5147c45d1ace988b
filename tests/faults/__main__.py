"""Kill a run at random moments and check that nothing is lost: python -m tests.faults --kills 20 --seed 1."""

import argparse
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.running import kill_snakemake_often
from tests.workflow.grid import make_grid


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--grid", type=Path, help="a folder in which the small grid was made")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="chorus-faults-") as temporary:
        folder = Path(temporary)
        grid = arguments.grid
        if grid is None:
            print("Making the small grid without a kill, as the reference.", flush=True)
            (folder / "grid").mkdir()
            grid = make_grid(folder / "grid")
        rng = random.Random(arguments.seed)
        outcome = kill_snakemake_often(grid, folder / "killed", rng, arguments.kills)
    print(f"{outcome.kills} kills in {outcome.runs} runs; lost: {len(outcome.lost)}")
    print(*outcome.lost[:50], sep="\n")
    return int(bool(outcome.lost))


if __name__ == "__main__":
    sys.exit(main())
