"""Facts of models and tasks that no table has: from a hub on this machine, and from lm-eval's own files."""

import json

import pytest

from tests.unit.hub.fake_hub import model_files, safetensors
from tests.unit.settings.merged import ROOT
from workflow_scripts.core.errors import Unreachable, UserError
from workflow_scripts.hub.look_up import look_up_model, look_up_task
from workflow_scripts.settings.tables import ModelRow, TaskRow, read_tasks

MODEL = "acme/Rocket-1B"
FAMILIES = ["Qwen", "Llama", "Yi"]
TABLE = {
    name: row
    for name, row in read_tasks(ROOT / "config/tasks.tsv").items()
    if row.harness == "lm_eval"
}


def files(config=None, tokenizer=None, **more):
    config = {"model_type": "llama", "num_hidden_layers": 16} if config is None else config
    changed = {"config.json": json.dumps(config).encode()}
    if tokenizer is not None:
        changed["tokenizer_config.json"] = json.dumps(tokenizer).encode()
    return model_files() | changed | more


def found(name=MODEL):
    return ModelRow.model_validate(look_up_model(name, FAMILIES))


def test_a_models_facts_are_the_hubs_and_its_configs(hub):
    hub.add("model", MODEL, [files()], card={"license": "mit"}, gated=False)
    row = found()
    assert (row.model, row.source, row.licence, row.gated) == (MODEL, "huggingface", "mit", False)
    assert (row.layers, row.kind, row.revision, row.tokens_billion) == (16, "base", None, None)
    assert row.parameters == 500_000  # of a file of a million bytes, two for each


def test_the_parameters_of_many_files_add_up_and_no_weights_are_sent(hub):
    sharded = files()
    del sharded["model.safetensors"]
    for number in (1, 2, 3):
        sharded[f"model-{number:05}-of-00003.safetensors"] = safetensors(2_000_000 * number)
    sharded["consolidated.safetensors"] = safetensors(12_000_000)  # the same once more
    hub.add("model", MODEL, [sharded])
    assert found().parameters == 1_000_000 + 2_000_000 + 3_000_000
    assert hub.sent() < 600_000, "more than the heads of the files was sent"


TEMPLATE = {"chat_template": "{{ messages }}"}


@pytest.mark.parametrize(
    ("name", "tokenizer", "card", "kind"),
    [
        ("acme/Rocket-1B", {}, {}, "base"),
        ("acme/Rocket-1B-Instruct", {}, {}, "base"),  # it cannot be asked as a chat
        ("acme/Rocket-1B", TEMPLATE, {}, "base"),  # as Qwen2.5's base models
        ("acme/Rocket-1B-Instruct", TEMPLATE, {}, "instruct"),
        ("acme/rocket-1b-it", TEMPLATE, {}, "instruct"),
        ("acme/Rocket-1B", TEMPLATE, {"base_model": "acme/Rocket-1B-Base"}, "instruct"),
        ("acme/Rocket-1B-Base", TEMPLATE, {"base_model": "acme/Rocket-0"}, "base"),
    ],
)
def test_what_follows_a_chat_is_instruct(hub, name, tokenizer, card, kind):
    hub.add("model", name, [files(tokenizer=tokenizer)], card=card)
    assert found(name).kind == kind


def test_a_chat_template_may_be_a_file_of_its_own(hub):
    hub.add("model", f"{MODEL}-Chat", [files(**{"chat_template.jinja": b"{{ messages }}"})])
    assert found(f"{MODEL}-Chat").kind == "instruct"


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("acme/Meta-Llama-9-1B", "Llama"),
        ("acme/qwen7-0.5b", "Qwen"),
        ("acme/Yi-2-6B", "Yi"),
        ("acme/SmolLM2-135M-Instruct", "SmolLM2"),
        ("acme/rocket", "rocket"),
    ],
)
def test_a_family_of_the_table_is_taken_where_the_name_says_so(hub, name, family):
    hub.add("model", name, [files()])
    assert found(name).family == family


def test_what_a_card_does_not_say_is_said_so(hub):
    hub.add("model", MODEL, [files()], gated="manual")
    # A gated one tells its facts to whoever has accepted its licence.
    with pytest.raises(UserError, match="is gated"):
        found()
    hub.add("model", MODEL, [files()], card={"license": 'a "licence"\tof\nmine'})
    assert found().licence == "a licence of mine"
    hub.add("model", MODEL, [files()])
    assert found().licence == "not stated"


@pytest.mark.parametrize(
    ("repository", "sentence"),
    [
        ({"config.json": b"{}", "pytorch_model.bin": b"pickle"}, "holds no safetensors weights"),
        ({"model.safetensors": safetensors(10)}, "holds no config.json"),
        (files({"model_type": "rocket"}), "does not say how many layers it has"),
        (files() | {"config.json": b"<html>"}, "config.json cannot be read as JSON"),
        (files() | {"config.json": b"[]"}, "config.json holds no JSON object"),
        (files() | {"model.safetensors": b"version https://git-lfs"}, "weights cannot be read"),
    ],
)
def test_what_is_no_model_for_us_is_a_sentence(hub, repository, sentence):
    hub.add("model", MODEL, [repository])
    with pytest.raises(UserError, match=sentence):
        found()


def test_a_hub_that_cannot_be_reached_is_a_sentence(hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(Unreachable, match="The look-up of a model's facts needs the internet"):
        found()


@pytest.mark.parametrize("name", TABLE)
def test_what_lm_eval_says_of_a_task_is_what_the_table_says_by_hand(name):
    by_hand, read = TABLE[name], TaskRow.model_validate(look_up_task(name))
    assert (read.dataset, read.subset, read.metric) == (
        by_hand.dataset,
        by_hand.subset,
        by_hand.metric,
    )
    assert read.training == by_hand.training
    if name != "gsm8k":  # the table prefers the second of lm-eval's two filters
        assert read.filter == by_hand.filter


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_such_task", "lm-eval knows no task 'no_such_task'"),
        ("glue", "name its members"),  # a list of tasks without a score
        ("leaderboard", "is of 6 datasets"),
        ("AraDiCE", "with a name of your own"),
    ],
)
def test_what_must_be_said_by_hand_is_a_sentence(name, sentence):
    with pytest.raises(UserError, match=sentence):
        look_up_task(name)


def test_the_choice_among_several_metrics_is_told(capsys):
    look_up_task("gsm8k")
    said = capsys.readouterr().err
    assert "gsm8k has the filters strict-match, flexible-extract in lm-eval" in said
    assert "its tables report strict-match" in said
