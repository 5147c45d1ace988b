"""List the names of the demo's models, datasets and files; without heavy imports, because the Snakefile reads it."""

from pathlib import Path
from typing import Any

import yaml


def load_yaml(name: str) -> Any:
    """Load a YAML file of this folder with the fast parser, because each Snakemake process reads two of them."""
    text = Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.CSafeLoader(text).get_single_data()


ORGANISATION = "miniature"
TABLES: dict[str, dict[str, Any]] = load_yaml("tables")
DATASETS = tuple(TABLES)
MODELS: dict[str, dict[str, Any]] = load_yaml("specs")["models"]

# Folder of the trained models in the repository: one tokenizer for all, and a folder per model with its config, weights
# and facts (how it was trained, and the checksums of the files).
SHIPPED = Path(__file__).resolve().parents[2] / "resources/miniature"
TOKENIZER = "tokenizer.json"
CONFIG, WEIGHTS, FACTS = "config.json", "model.safetensors", "made.json"
