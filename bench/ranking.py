"""Measure how long the tables and figures of the ranking study take with many models.

    make bench-ranking MODELS=10000

The models are copies of the published scores under both protocols with a little noise, up to the requested
number, with a tenth of the cells missing. A run without models imports them, and Snakemake makes the tables and
figures on two cores.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parents[1]
NOISE = 0.01  # on scores of at most 1; two training runs of one model differ by about as much
SNAKEMAKE = [sys.executable, "-m", "snakemake", "-c2", "--quiet", "--snakefile"]


def make_scores(models: int) -> pd.DataFrame:
    """Copy the published models under new names, with noise and missing cells."""
    published = pd.read_csv(ROOT / "resources/published/harmony_cells.csv")
    published = published[published["metric"] != "bits_per_byte"]
    generator, copies = np.random.default_rng(0), []
    for number in range(-(-models // published["model"].nunique())):
        moved = published["value"] + NOISE * generator.standard_normal(len(published))
        copy = published.assign(
            model=published["model"] + f"-{number}", value=moved.clip(0.001, 0.999)
        )
        copies.append(copy[generator.random(len(copy)) > 0.1])
    scores = pd.concat(copies)
    return scores[scores["model"].isin(scores["model"].unique()[:models])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=1000)
    models = parser.parse_args().models
    with tempfile.TemporaryDirectory(prefix="bench-ranking-") as name:
        folder = Path(name)
        make_scores(models).to_csv(folder / "many.csv", index=False)
        config = {"harmony": {"models": [], "imported_scores": ["many.csv"]}}
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        started = time.monotonic()
        for target in ("harmony", "costs"):
            subprocess.run(
                [*SNAKEMAKE, ROOT / "Snakefile", "--configfile", "config.yaml", "--", target],
                cwd=folder,
                check=True,
                capture_output=True,
            )
            if target == "harmony":
                print(f"{models:,} models: {time.monotonic() - started:.0f} s in all\n")
        costs = pd.read_csv(folder / "results/costs.csv")
        costs = costs.sort_values("seconds", ascending=False)[["rule", "seconds", "peak_mb"]]
        print(costs.to_markdown(index=False, floatfmt=".0f"))


if __name__ == "__main__":
    main()
