"""Names that no table has are looked up once, and found in a file from then on."""

import pytest

from tests.unit.settings.merged import ROOT, load
from tests.unit.settings.test_tables import MODEL as ROCKET
from tests.unit.settings.test_tables import TASK as COLA
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.found import LookUp
from workflow_scripts.settings.tables import ModelRow, TaskRow, read_table

pytestmark = pytest.mark.usefixtures("here")

MODEL, CHAT = "acme/Rocket-1B", "acme/Rocket-1B-Chat"


class Asked(LookUp):
    """Knows every model and every task, and remembers what it was asked."""

    def __init__(self):
        object.__setattr__(self, "names", [])

    def model(self, name, families):
        self.names.append(name)
        assert "Qwen" in families
        kind = "instruct" if name == CHAT else "base"
        return ROCKET | {"model": name, "layers": "12", "kind": kind}

    def task(self, name):
        self.names.append(name)
        named = dict.fromkeys(("task", "harness_task", "display_name"), name)
        return COLA | named | {"dataset": "acme/questions", "subset": "", "training": "no"}


CONFIG = {
    "source": "huggingface",
    "harmony": {"models": [MODEL], "tasks": ["sst2", "riddles"]},
    "chunking": {
        "checkpoints": [{"model": MODEL, "num_chunks": 2, "num_layers_per_chunk": 5}],
    },
    "prompts": {"models": [CHAT]},
    "mmlu": {"models": [MODEL]},
}


def test_what_was_found_once_is_known_without_a_network():
    asked = Asked()
    first = load(CONFIG, asked)
    assert sorted(asked.names) == [MODEL, CHAT, "riddles"]
    assert (first.model(MODEL).layers, first.task("riddles").dataset) == (12, "acme/questions")
    assert list(first.checkpoints()) == [f"{MODEL}@k2m5"]
    assert load(CONFIG) == first


def test_the_file_is_a_table_like_the_one_that_people_write(tmp_path):
    load(CONFIG, Asked())
    models = read_table(ModelRow, tmp_path / "config/models.found.tsv")
    assert (set(models), models[CHAT].kind) == ({MODEL, CHAT}, "instruct")
    assert list(read_table(TaskRow, tmp_path / "config/tasks.found.tsv")) == ["riddles"]


def test_what_is_found_later_joins_what_was_found(tmp_path):
    load(CONFIG, Asked())
    later = Asked()
    load({"source": "huggingface", "harmony": {"models": ["acme/Rocket-7B"]}} | NOTHING_ELSE, later)
    assert later.names == ["acme/Rocket-7B"]
    models = read_table(ModelRow, tmp_path / "config/models.found.tsv")
    assert set(models) == {MODEL, CHAT, "acme/Rocket-7B"}


NOTHING_ELSE = {"chunking": {"checkpoints": []}, "prompts": {"models": []}}


def test_only_what_the_config_names_is_known_beside_the_table():
    load(CONFIG, Asked())
    table = set(load({}).models)
    assert MODEL not in table
    assert set(load(CONFIG).models) == table | {MODEL, CHAT}


def test_a_row_that_people_wrote_goes_before(tmp_path):
    load(CONFIG, Asked())
    found = (tmp_path / "config/models.found.tsv").read_text()
    own = tmp_path / "models.tsv"
    own.write_text((ROOT / "config/models.tsv").read_text())
    with own.open("a") as file:
        file.write(f"{MODEL}\thuggingface\tMine\t2000000\t\t24\tbase\tmit\tno\tmain\n")
    asked = Asked()
    settings = load(CONFIG | {"tables": {"models": "models.tsv"}}, asked)
    assert settings.model(MODEL).layers == 24
    assert (asked.names, (tmp_path / "config/models.found.tsv").read_text()) == ([], found)


def test_a_row_that_was_found_may_be_mended(tmp_path):
    load(CONFIG, Asked())
    path = tmp_path / "config/models.found.tsv"
    path.write_text(path.read_text().replace("Rocket\t", "Spaceship\t"))
    assert load(CONFIG, Asked()).model(MODEL).family == "Spaceship"


def test_a_row_that_is_deleted_is_looked_up_again(tmp_path):
    load(CONFIG, Asked())
    path = tmp_path / "config/tasks.found.tsv"
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    asked = Asked()
    load(CONFIG, asked)
    assert asked.names == ["riddles"]


def test_a_damaged_file_is_named_with_line_and_column(tmp_path):
    load(CONFIG, Asked())
    path = tmp_path / "config/models.found.tsv"
    path.write_text(path.read_text().replace("\t12\t", "\ttwelve\t"))
    with pytest.raises(UserError, match=r"models\.found\.tsv, line 2, column layers: .*'twelve'"):
        load(CONFIG)


class Nowhere(Asked):
    def model(self, name, families):
        raise UserError(f"The hub shows no model {name}.")


def problems(override, look_up):
    with pytest.raises(UserError) as raised:
        load(override, look_up)
    return raised.value.problems


def test_what_cannot_be_found_is_named_by_its_key():
    misspelt = {
        "source": "huggingface",
        "harmony": {"models": ["Qwen/Qwen2.5-0.5b"]},
    } | NOTHING_ELSE
    assert problems(misspelt, Nowhere()) == [
        "harmony.models[0]: The hub shows no model Qwen/Qwen2.5-0.5b. Did you mean"
        " 'Qwen/Qwen2.5-0.5B'?"
    ]
    assert problems(misspelt, None) == [
        "harmony.models[0] is 'Qwen/Qwen2.5-0.5b'; expected a model of the models table (did you mean"
        " 'Qwen/Qwen2.5-0.5B'?)."
    ]


class Odd(Asked):
    def model(self, name, families):
        return super().model(name, families) | {"parameters": "many"}


def test_facts_that_make_no_row_are_kept_nowhere(tmp_path):
    (said,) = problems(
        {"source": "huggingface", "harmony": {"models": [MODEL]}} | NOTHING_ELSE, Odd()
    )
    assert "parameters is 'many'" in said
    assert not (tmp_path / "config").exists()


def test_the_miniature_world_asks_no_hub():
    asked = Asked()
    said = problems({"harmony": {"models": [MODEL, "miniature/Lama-1.4M"]}}, asked)
    assert len(said) == 2
    assert "did you mean 'miniature/Llama-1.4M'" in said[1]
    assert asked.names == []
