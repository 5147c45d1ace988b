"""Fill a fake hub with stand-ins under the real names: generated datasets, and shipped models.

Models have as many layers as the real ones, because chunk plans are checked against this number.
"""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from safetensors.numpy import load_file, save_file

from tests.unit.hub.fake_hub import FakeHub
from tests.workflow.snakemake import ROOT
from workflow_scripts.hub.manifest import MANIFEST
from workflow_scripts.miniature.build_world import build_world
from workflow_scripts.miniature.shipped import copy_model
from workflow_scripts.settings.tables import ModelRow, read_table

ITEMS = 8  # test items per dataset
# A shipped model of the same architecture for each real name.
STAND_INS = {
    "EleutherAI/pythia-70m-deduped": "Pythia-0.1M",
    "HuggingFaceTB/SmolLM2-135M": "Llama-0.3M",
    "HuggingFaceTB/SmolLM2-135M-Instruct": "Llama-0.3M",
    "Qwen/Qwen2.5-0.5B": "Qwen2-1M",
    "Qwen/Qwen2.5-0.5B-Instruct": "Qwen2-1M-Instruct",
    "meta-llama/Llama-3.2-1B-Instruct": "Llama-0.3M",
}
# The other stand-ins have a chat template exactly if the real model has it.
WITHOUT_TEMPLATE = "HuggingFaceTB/SmolLM2-135M"


def fill(hub: FakeHub) -> None:
    for (kind, name), (files, licence) in _build_repositories().items():
        hub.add(kind, name, [files], card={"license": licence})


@cache
def _build_repositories() -> dict[tuple[str, str], tuple[dict[str, bytes], str]]:
    """Build the files and licence of each repository, keyed by kind and name."""
    rows = read_table(ModelRow, ROOT / "config/models.tsv")
    repositories = {}
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        build_world(folder, items=ITEMS)
        for card in (folder / "datasets").glob("*/*/README.md"):
            name = card.parent.relative_to(folder / "datasets").as_posix()
            repositories["dataset", name] = _read(card.parent), "mit"
        for name, shipped in STAND_INS.items():
            copy_model(folder, shipped)
            model = folder / "models/miniature" / shipped
            _stretch(model, rows[name].layers)
            if name == WITHOUT_TEMPLATE:
                (model / "chat_template.jinja").unlink()
            repositories["model", name] = _read(model), rows[name].licence.lower()
    return repositories


def _stretch(folder: Path, layers: int) -> None:
    """Repeat layers until the model has `layers` layers."""
    config = json.loads((folder / "config.json").read_text())
    shipped_layers = config["num_hidden_layers"]
    config["num_hidden_layers"] = layers
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][:1] * layers
    (folder / "config.json").write_text(json.dumps(config))
    weights = load_file(folder / "model.safetensors")
    stretched = {name: tensor for name, tensor in weights.items() if ".layers." not in name}
    for layer in range(layers):
        old, new = f".layers.{layer * shipped_layers // layers}.", f".layers.{layer}."
        stretched |= {name.replace(old, new): weights[name] for name in weights if old in name}
    save_file(stretched, folder / "model.safetensors", metadata={"format": "pt"})


def _read(folder: Path) -> dict[str, bytes]:
    """Read the files of a folder except the manifest, which a hub repository does not have."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
