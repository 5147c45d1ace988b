"""Write config/schema.json from the models in this folder: python -m workflow_scripts.settings.schema."""

import json
from pathlib import Path

from workflow_scripts.settings.config import Config

FILE = Path(__file__).parents[2] / "config/schema.json"


def build_schema() -> str:
    """Build the JSON schema with which editors check and complete a config.

    No key is required, because config.yaml, which is always loaded, has every key with its default.
    """
    schema = Config.model_json_schema()
    for part in (schema, *schema["$defs"].values()):
        part.pop("required", None)
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(build_schema(), encoding="utf-8")
