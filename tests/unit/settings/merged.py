"""What a user's config looks like after Snakemake has merged it over the defaults."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from snakemake.utils import update_config

ROOT = Path(__file__).parents[3]


def merged(override: Mapping[Any, Any]) -> dict[str, Any]:
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    update_config(config, override)
    return config
