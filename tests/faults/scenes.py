"""Pieces of work for the hot process to be killed in: what the steps of long jobs call.

Each works in the current folder, where `resources` leads to a hub, and writes into `results`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.workflow.grid import GRID
from tests.workflow.snakemake import ROOT
from workflow_scripts.settings.load import Settings, load_settings

MODEL, DATASET = "miniature/Pythia-0.1M", "nyu-mll/glue"
_MANIFEST = Path(f"resources/hub/models/{MODEL}/manifest.json")
_RECORDS = "results/records/harmony/{}/miniature--Pythia-0.1M/{}.json"


@dataclass(frozen=True)
class Scene:
    name: str
    work: Callable[[], None]
    outputs: tuple[Path, ...]  # declared ones: Snakemake removes them when a job is killed


def scenes(folder: Path) -> list[Scene]:
    """What they need beside a hub is put into the folder."""
    settings = _settings()
    return [
        _cells(settings, "direct", ("mnli", "sst2", "rte")),
        _cells(settings, "train_before_test", ("mnli", "rte")),
        _prompt_run(settings, "run6"),
        _stage(settings, folder / "samples"),
    ]


def _cells(settings: Settings, protocol: str, tasks: tuple[str, ...]) -> Scene:
    """A job of several cells, as rules/cells.smk has them."""
    from workflow_scripts.evaluation.cells import harmony_cells
    from workflow_scripts.steps.measure_cells import main

    records = [Path(_RECORDS.format(protocol, task)) for task in tasks]
    asked = harmony_cells(settings, protocol, tasks).as_params()

    def work() -> None:
        data = [Path(f"resources/hub/datasets/{DATASET}/manifest.json")]
        main(_MANIFEST, data, records, Path("log"), "1", asked)

    outputs = (*records, *(record.with_suffix(".parquet") for record in records))
    return Scene(f"{protocol}, {len(tasks)} cells", work, outputs)


def _prompt_run(settings: Settings, run: str) -> Scene:
    """A question of each subject, answered in words."""
    from workflow_scripts.evaluation.prompts.requests import prompt_request
    from workflow_scripts.steps.measure import main

    request = prompt_request(settings, run).as_params() | {"max_items_per_subject": 1}
    request["asking"]["decoding"]["new_tokens"] = 4
    # A base model has no chat template.
    text = "{{ question }}\nChoices: {{ choices }}\nAnswer:"
    request["asking"] |= {"messages": None, "text": text}
    outputs = Path(f"results/outputs/prompts/{run}.json")

    def work() -> None:
        main(
            "evaluation.prompts.run",
            [_MANIFEST],
            [Path("resources/hub/datasets/cais/mmlu/manifest.json")],
            {"run": outputs},
            "1",
            request,
        )

    return Scene("a prompt run", work, (outputs, outputs.with_suffix(".parquet")))


def _stage(settings: Settings, samples: Path) -> Scene:
    """A training that makes a checkpoint."""
    from workflow_scripts.settings.training_keys import TrainingKeys
    from workflow_scripts.steps.train_checkpoint import main
    from workflow_scripts.training.requests import StageRequest

    _draw_samples(samples, settings.seed)
    keys = TrainingKeys(batch_size=4, learning_rate=1e-3, save_every=1, max_steps=8)
    manifest = Path("results/checkpoints/trained/manifest.json")
    record = Path("results/training/trained.json")
    summary = samples.absolute() / "samples.json"
    asked = StageRequest(
        id=f"{MODEL}@k2m1+cpt",
        recipe="killed",
        keys=keys,
        validation=0.1,
        seed=settings.seed,
        **_compute(settings, "threads", "device", "attention"),
    )

    def work() -> None:
        main(_MANIFEST, summary, manifest, record, "1", asked.as_params())

    return Scene("a stage of training", work, (manifest, record))


def _draw_samples(folder: Path, seed: int) -> None:
    import numpy as np

    from workflow_scripts.training.samples import Sample, SampleWriter

    rng, writer = np.random.default_rng(seed), SampleWriter(folder)
    for length in rng.integers(8, 64, 40):
        tokens = rng.integers(3, 61, length).astype(np.int32)
        writer.add(Sample(tokens, np.ones(length, bool)))
    writer.close()


def _compute(settings: Settings, *names: str) -> dict[str, Any]:
    return settings.compute.model_dump(include=set(names))


def _settings() -> Settings:
    merged: dict = {}
    for path in (ROOT / "config/config.yaml", *map(Path, GRID[1:])):
        _update(merged, yaml.safe_load(path.read_text()))
    return load_settings(merged, ROOT)


def _update(config: dict, changes: dict) -> None:
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            _update(config[key], value)
        else:
            config[key] = value
