"""The configs of the real models, cut to a few models, tasks and items, and a hub of stand-ins to run them on."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.unit.hub.fake_hub import FakeHub
from tests.workflow.snakemake import ROOT
from tests.workflow.stand_in_hub import fill

CUTS = ROOT / "tests/workflow/cuts"
# Of config/requests/paper: one that trains before each test, and one of a checkpoint that is made here.
REQUESTS = ["Qwen2.5-0.5B-trained-before-test", "Qwen2.5-0.5B-Instruct@k2m12+cpt"]


def list_config_arguments(name: str) -> list[str]:
    """List the arguments for a config as it is, and behind it the file that cuts it."""
    return ["--configfile", str(ROOT / f"config/{name}.yaml"), str(CUTS / f"{name}.yaml")]


@contextmanager
def serve_real_config(
    name: str, folder: Path
) -> Iterator[tuple[list[str], dict[str, str], FakeHub]]:
    """Yield arguments and environment of a run in this folder, and the hub, which is there meanwhile."""
    (folder / "requests").mkdir(parents=True)
    for request in REQUESTS:
        shutil.copy(ROOT / f"config/requests/paper/{request}.yaml", folder / "requests")
    with FakeHub() as hub:
        fill(hub)
        yield list_config_arguments(name), {"HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1"}, hub
