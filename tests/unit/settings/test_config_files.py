"""Test that config/config.yaml has every key, and that config/schema.json matches the code."""

import json

import jsonschema
import yaml

from tests.unit.settings.merged import CONFIGS, ROOT, load
from workflow_scripts.settings.config import Config
from workflow_scripts.settings.schema import FILE, build_schema
from workflow_scripts.settings.section import Section


def check_section(config: dict, section: Section) -> None:
    assert list(config) == list(type(section).model_fields)
    for name, value in section:
        if isinstance(value, Section):
            check_section(config[name], value)


def test_default_config_has_every_key():
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    settings = load({})
    fields = {name: getattr(settings, name) for name in Config.model_fields}
    check_section(config, Config.model_construct(**fields))


def test_schema():
    """Every config is valid under the schema, and every key has a description."""
    text = build_schema()
    schema = json.loads(text)
    assert FILE.read_text(encoding="utf-8") == text
    for path in CONFIGS:
        jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), schema)
    for part in [schema, *schema["$defs"].values()]:
        for name, key in part["properties"].items():
            assert key["description"].endswith("."), name
