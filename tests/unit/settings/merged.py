"""Merge a user's config over the defaults, as Snakemake does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from snakemake.utils import update_config

from workflow_scripts.settings.load import load_settings
from workflow_scripts.settings.names import LookUp
from workflow_scripts.settings.settings import Settings

ROOT = Path(__file__).parents[3]
# The files for --configfile; flags.yaml has another schema.
CONFIGS = sorted({*(ROOT / "config").glob("*.yaml")} - {ROOT / "config/flags.yaml"})


def merged(override: Mapping[Any, Any]) -> dict[str, Any]:
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    update_config(config, override)
    return config


def load(override: Mapping[Any, Any], look_up: LookUp | None = None) -> Settings:
    """Load settings from a user's config merged over the defaults."""
    return load_settings(merged(override), look_up)
