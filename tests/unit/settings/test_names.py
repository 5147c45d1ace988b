"""Names that no table has are looked up once, and are in a table from then on."""

import pytest

from tests.unit.settings.merged import ROOT, load
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
NOTHING_ELSE = {"chunking": {"checkpoints": []}, "prompts": {"models": []}}


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

    return load(config, LookUp(get_model, get_task, lambda name: False))


def get_problems(*arguments, **changed):
    with pytest.raises(UserError) as raised:
        load_with(*arguments, **changed)
    return raised.value.problems


def test_names_are_looked_up_once_and_known_without_a_network(tmp_path):
    requests = []
    settings = load_with(requests)
    assert sorted(requests) == [MODEL, CHAT, "riddles"]
    assert (settings.model(CHAT).kind, settings.task("riddles").dataset) == (
        "instruct",
        "acme/questions",
    )
    assert list(settings.checkpoints()) == [f"{MODEL}@k2m5"]
    assert load(CONFIG) == settings
    assert set(settings.models) - set(load({}).models) == {MODEL, CHAT}
    path = tmp_path / "config/models.found.tsv"
    path.write_text(path.read_text().replace("Rocket\t", "Spaceship\t"))
    assert load(CONFIG).model(MODEL).family == "Spaceship"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:1]))
    requests.clear()
    load_with(requests)
    assert sorted(requests) == [MODEL, CHAT]


def test_a_row_written_by_hand_comes_first(tmp_path):
    row = f"{MODEL}\thuggingface\tMine\t2000000\t\t24\tbase\tmit\tno\tmain\n"
    (tmp_path / "models.tsv").write_text((ROOT / "config/models.tsv").read_text() + row)
    requests = []
    settings = load_with(requests, CONFIG | {"tables": {"models": "models.tsv"}})
    assert settings.model(MODEL).layers == 24 and MODEL not in requests


def test_facts_that_make_no_row_are_kept_nowhere(tmp_path):
    (problem,) = get_problems([], CONFIG | NOTHING_ELSE, parameters="many")
    assert problem.startswith("harmony.models[0] is") and "parameters is 'many'" in problem
    assert not (tmp_path / "config/models.found.tsv").exists()


def test_the_miniature_world_asks_no_hub():
    requests = []
    problems = get_problems(requests, {"harmony": {"models": [MODEL, "miniature/Lama-1.4M"]}})
    assert len(problems) == 2 and not requests
    assert problems[1].endswith("Did you mean 'miniature/Llama-1.4M'?")
