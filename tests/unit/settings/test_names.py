"""Names that no table has are looked up once, and are in a table from then on."""

import pytest

from tests.unit.settings.merged import load
from tests.unit.settings.test_tables import MODEL as ROCKET
from tests.unit.settings.test_tables import TASK as COLA
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.names import LookUp

pytestmark = pytest.mark.usefixtures("here")

MODEL, CHAT = "acme/Rocket-1B", "acme/Rocket-1B-Chat"
CONFIG = {
    "source": "huggingface",
    "harmony": {"models": [MODEL], "tasks": ["sst2", "riddles"]},
    "chunking": {"checkpoints": [{"model": MODEL, "num_chunks": 2, "num_layers_per_chunk": 5}]},
    "prompts": {"models": [CHAT]},
}


def load_with(requests: list, config=CONFIG, **changed):
    """Load with a hub that knows every model and every task; `requests` gets their names."""

    def get_model(name, families):
        requests.append(name)
        kind = "instruct" if name == CHAT else "base"
        return ROCKET | {"model": name, "layers": "12", "kind": kind} | changed

    def get_task(name):
        requests.append(name)
        names = dict.fromkeys(("task", "harness_task", "display_name"), name)
        return COLA | names | {"dataset": "acme/questions", "subset": "", "training": "no"}

    return load(config, LookUp(get_model, get_task))


def test_look_up_once(tmp_path):
    requests = []
    settings = load_with(requests)
    assert sorted(requests) == [MODEL, CHAT, "riddles"]
    assert settings.model(CHAT).kind == "instruct"
    assert settings.task("riddles").dataset == "acme/questions"
    assert list(settings.checkpoints()) == [f"{MODEL}@k2m5"]
    assert load(CONFIG) == settings, "without a network"
    path = tmp_path / "config/models.found.tsv"
    path.write_text(path.read_text().replace("Rocket\t", "Spaceship\t"))
    assert load(CONFIG).model(MODEL).family == "Spaceship"


def test_wrong_cells_unsaved(tmp_path):
    with pytest.raises(UserError) as error:
        load_with([], CONFIG, parameters="many")
    assert all("parameters is 'many'" in problem for problem in error.value.problems)
    assert not (tmp_path / "config/models.found.tsv").exists()


def test_miniature_world_asks_no_hub():
    requests = []
    with pytest.raises(UserError, match=r"Did you mean 'miniature/Llama-1.4M'\?$"):
        load_with(requests, {"harmony": {"models": [MODEL, "miniature/Lama-1.4M"]}})
    assert not requests
