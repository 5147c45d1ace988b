"""Test that unknown names of models and tasks are looked up once and then stored in a table."""

from types import SimpleNamespace

import pytest

from tests.unit.settings.merged import load
from tests.unit.settings.test_tables import MODEL as ROCKET
from tests.unit.settings.test_tables import TASK as COLA
from workflow_scripts.core.errors import UserError

pytestmark = pytest.mark.usefixtures("here")

MODEL, CHAT = "acme/Rocket-1B", "acme/Rocket-1B-Chat"
CONFIG = {
    "source": "huggingface",
    "harmony": {"models": [MODEL], "tasks": ["sst2", "riddles"]},
    "chunking": {"checkpoints": [{"model": MODEL, "num_layers_per_chunk": 5}]},
    "prompts": {"models": [CHAT]},
}


@pytest.fixture
def hub():
    """Return a fake hub with every model and task; it records requested names, and `changed` overrides cells."""
    requests, changed = [], {}

    def look_up(table, name, families):
        requests.append(name)
        if table == "models":
            kind = "instruct" if name == CHAT else "base"
            return ROCKET | {"model": name, "kind": kind} | changed
        names = dict.fromkeys(("task", "harness_task", "display_name"), name)
        return COLA | names | {"dataset": "acme/questions", "training": "no"}

    return SimpleNamespace(requests=requests, changed=changed, look_up=look_up)


def test_look_up_once(hub, here):
    settings = load(CONFIG, hub.look_up)
    assert sorted(hub.requests) == [MODEL, CHAT, "riddles"]
    assert settings.models[CHAT].kind == "instruct"
    assert settings.tasks["riddles"].dataset == "acme/questions"
    assert load(CONFIG) == settings, "without a network"
    path = here / "config/models.found.tsv"
    path.write_text(path.read_text().replace("Rocket\t", "Spaceship\t"))
    assert load(CONFIG).models[MODEL].family == "Spaceship"


def test_wrong_cells_unsaved(hub, here):
    hub.changed["parameters"] = "many"
    with pytest.raises(UserError) as error:
        load(CONFIG, hub.look_up)
    assert all("parameters is 'many'" in problem for problem in error.value.problems)
    assert not (here / "config/models.found.tsv").exists()


def test_miniature_world_asks_no_hub(hub):
    with pytest.raises(UserError, match=r"Did you mean 'miniature/Llama-1.4M'\?$"):
        load({"harmony": {"models": [MODEL, "miniature/Lama-1.4M"]}}, hub.look_up)
    assert not hub.requests
