"""Run the configs of real models with fewer models, tasks and items, on a fake hub with stand-in models."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.unit.hub.fake_hub import FakeHub
from tests.workflow.snakemake import ROOT
from tests.workflow.stand_in_hub import fill

CUTS = ROOT / "tests/workflow/cuts"
# From config/requests/paper: a request for a model of the hub, and one for a checkpoint built in the run.
REQUESTS = ["Qwen2.5-0.5B", "Qwen2.5-0.5B-Instruct@k2m12+cpt"]


def list_config_arguments(name: str) -> list[str]:
    """List the arguments for a config and for the file that reduces it."""
    return ["--configfile", str(ROOT / f"config/{name}.yaml"), str(CUTS / f"{name}.yaml")]


@contextmanager
def serve_real_config(
    name: str, folder: Path
) -> Iterator[tuple[list[str], dict[str, str], FakeHub]]:
    """Yield the arguments and environment of a run in `folder`, and the running fake hub."""
    (folder / "requests").mkdir(parents=True)
    for request in REQUESTS:
        shutil.copy(ROOT / f"config/requests/paper/{request}.yaml", folder / "requests")
    with FakeHub() as hub:
        fill(hub)
        yield list_config_arguments(name), {"HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1"}, hub
