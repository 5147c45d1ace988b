"""Test prompt run files: inheritance, and one sentence for every error before a job starts."""

import re

import pytest
import yaml

from tests.tables import load_cases, load_table
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.prompts.templates import render


@pytest.fixture
def write(here):
    """Return a function that writes a prompt run into config/prompts of the working directory."""
    folder = here / "config/prompts"
    folder.mkdir(parents=True)

    def write_run(name, **keys) -> None:
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({"changed": "something"} | keys))

    return write_run


def load_runs(**prompts):
    return load({"prompts": prompts}).prompt_runs


def find_problem(**prompts) -> str:
    with pytest.raises(UserError) as error:
        load_runs(**prompts)
    (sentence,) = error.value.problems
    return sentence


def test_inheritance(write):
    """Mappings are merged, lists replaced, null unsets; a run in the working directory overrides the repository's."""
    answers = [{"parser": "whole", "right": "equal"}]
    write("run6", extends="run5", shots={"number": 3}, read={"answers": answers})
    write("run10", extends="run6", decoding={"temperature": None})
    runs = load_runs()
    run = runs["run10"]
    assert list(runs)[-1] == "run10" and list(load_runs(runs=["run10", "run1"])) == [
        "run10",
        "run1",
    ]
    assert (run.after, run.published, run.changed) == ("run6", None, "something")
    assert run.decoding.get_options() == {"do_sample": True}
    assert (run.decoding.new_tokens, run.shots.number) == (64, 3)
    assert [link.parser for link in run.read.answers] == ["whole"]
    assert run.read.format == "json_text"


@pytest.mark.parametrize(("keys", "texts"), load_cases(__file__, "bad_runs.txt"))
def test_bad_run(write, keys, texts):
    write("mine", **keys)
    sentence = find_problem(runs=["mine"])
    assert sentence.startswith("config/prompts/mine.yaml: ") and "\n" not in sentence
    assert all(text in sentence for text in texts), sentence


def test_wrong_run_name():
    assert re.search("prompts.runs has 'runn6'.*Did you mean 'run6'", find_problem(runs=["runn6"]))
    assert not load_runs(models=[])


def test_explained_run():
    assert load({"explain": "run6/anatomy/3"}).parse_explained_question() == ("run6", "anatomy", 3)
    assert load({"explain": "run6"}).parse_explained_question() == ("run6", None, 0)
    with pytest.raises(UserError, match="explain is 'rum6'"):
        load({"explain": "rum6"}).parse_explained_question()


@pytest.mark.parametrize("text", load_table(__file__, "hostile_templates.txt"))
def test_hostile_template(text):
    with pytest.raises(ValueError, match="cannot be rendered"):
        render(text[0], {"question": "?", "shots": []})


def test_render():
    values = {"question": "it's <b>", "list": ["a", "b"]}
    assert render("{{ question }}\n", values) == "it's <b>\n"
    assert render('{{ {"Answer": question} | tojson }}', values) == '{"Answer": "it\'s <b>"}'
    with pytest.raises(ValueError, match="'missing'"):
        render("{{ missing }}", values)
