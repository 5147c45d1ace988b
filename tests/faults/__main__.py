"""Kill at random moments, see what is lost:   python -m tests.faults --kills 200 --seed 1

Most kills hit the library's steps in forks of one process, where a kill costs a second; the others hit
a real Snakemake or one of its jobs. Everything is drawn from the seed, but for how fast the machine is.
"""

import os

# As a job has them, and before anything heavy is imported.
os.environ |= {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
}

import argparse
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.running import kill_snakemake_often, real_world, small_world
from tests.workflow.grid import make_grid

_COLUMNS = "{:<38} {:>6} {:>6} {:>14} {:>14}  {}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="of all kinds together")
    parser.add_argument("--snakemake", type=int, help="of these, under a real Snakemake; a tenth")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--grid", type=Path, help="a folder in which the small grid was made")
    parser.add_argument("--real", type=int, help="more of these, of config/paper.yaml; a tenth")
    asked = parser.parse_args()
    under_snakemake = asked.kills // 10 if asked.snakemake is None else asked.snakemake
    real = asked.kills // 10 if asked.real is None else asked.real
    rng = random.Random(asked.seed)
    with TemporaryDirectory(prefix="chorus-faults-") as temporary:
        folder = Path(temporary)
        grid = asked.grid
        if grid is None:
            print(
                "Making the small grid without misfortune, to hold all others against.", flush=True
            )
            (folder / "grid").mkdir()
            grid = make_grid(folder / "grid")
        outcomes = [
            kill_snakemake_often(small_world(grid), folder / "snakemake", rng, under_snakemake)
        ]
        if real:
            print("Making config/paper.yaml with stand-ins, likewise.", flush=True)
            with real_world(folder / "paper") as world:
                outcomes.append(kill_snakemake_often(world, folder / "killed", rng, real))
        outcomes += _in_hot_process(grid, folder / "hot", rng, asked.kills - under_snakemake)
    print(_COLUMNS.format("what", "times", "runs", "items scored", "steps trained", "lost"))
    for one in outcomes:
        counts = [f"{one.computed[n]} for {one.needed[n] * one.runs}" for n in one.computed]
        lost = "nothing" if not one.lost else f"{len(one.lost)} things"
        print(_COLUMNS.format(one.killed, one.kills, one.runs, *(counts or "--"), lost))
    lost = [f"{one.killed}: {what}" for one in outcomes for what in one.lost]
    for sentence in lost[:50]:
        print(sentence)
    return int(bool(lost))


def _in_hot_process(grid: Path, folder: Path, rng: random.Random, kills: int):
    from tests.faults.hot import HotProcess
    from tests.faults.scenes import scenes

    process, found = HotProcess(grid / "resources/hub", folder, rng), scenes(folder)
    share = [kills // len(found) + (at < kills % len(found)) for at in range(len(found))]
    outcomes = [process.kill_often(scene, n) for scene, n in zip(found, share, strict=True) if n]
    return [*outcomes, *(process.fill_disk_often(scene, 5) for scene in found)]


if __name__ == "__main__":
    sys.exit(main())
