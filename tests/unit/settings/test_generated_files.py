"""config/config.yaml and config/schema.json say what the code says."""

import difflib
import json

import jsonschema
import pytest
import yaml

from tests.unit.settings.merged import CONFIGS, ROOT
from workflow_scripts.settings import generate
from workflow_scripts.settings.config import Config
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.prompts.spec import Example, Link, Message, PromptRun
from workflow_scripts.settings.section import Section


@pytest.mark.parametrize(
    ("name", "make"),
    [("config.yaml", generate.config_yaml), ("schema.json", generate.schema_json)],
)
def test_a_generated_file_is_up_to_date(name, make):
    written = (ROOT / "config" / name).read_text(encoding="utf-8")
    difference = difflib.unified_diff(
        written.splitlines(), make().splitlines(), f"config/{name}", "what the code says"
    )
    message = "\n".join(["run python -m workflow_scripts.settings.generate:", *difference])
    assert written == make(), message


def test_the_command_writes_both_files(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    generate.main()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.yaml", "schema.json"]


def test_the_generated_config_holds_the_defaults():
    written = yaml.safe_load(generate.config_yaml())
    assert Config.model_validate(written) == Config()


def test_what_two_kinds_of_recipes_share_is_explained_once():
    text = generate.config_yaml()
    assert text.count("- learning_rate (default") == 1
    assert text.count("- held_out_share (default") == 1
    assert "# Each entry has the keys of training.recipes from method to gpus, and:" in text


def test_lines_of_the_generated_config_fit_an_editor():
    assert max(map(len, generate.config_yaml().splitlines())) <= 100


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_fits_the_schema(path):
    schema = json.loads((ROOT / "config/schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), schema)


def test_the_schema_refuses_a_typo():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"compute": {"thread": 1}}, json.loads(generate.schema_json()))


def test_every_field_is_described_in_a_sentence():
    def sections(model: type[Section]):
        yield model
        for field in model.model_fields.values():
            if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
                yield from sections(field.annotation)

    checkpoint = type(Config().chunking.checkpoints[0])
    for model in [*sections(Settings), *sections(PromptRun), Message, Example, Link, checkpoint]:
        for name in model.model_fields:
            described = model.descriptions().get(name, "")
            assert described.endswith("."), f"{model.__name__}.{name}: {described!r}"
