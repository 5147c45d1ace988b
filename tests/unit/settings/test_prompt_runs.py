"""Files of prompt runs: what they inherit, and that every mistake is a sentence before a job starts."""

from pathlib import Path

import pytest
import yaml

from tests.tables import cases_beside, table_beside
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError
from workflow_scripts.grid.requests import explained_task


@pytest.fixture
def folder(here):
    """A working directory with a folder of runs of its own."""
    folder = here / "config/prompts"
    folder.mkdir(parents=True)
    return folder


def write(folder: Path, name: str, **keys) -> None:
    (folder / f"{name}.yaml").write_text(yaml.safe_dump({"changed": "something"} | keys))


def read_runs(**prompts):
    return load({"prompts": prompts}).prompt_runs


def get_problem(**prompts) -> str:
    with pytest.raises(UserError) as raised:
        read_runs(**prompts)
    (sentence,) = raised.value.problems
    return sentence


def test_published_runs():
    runs = load({}).prompt_runs
    for name, shape, links, after in table_beside(__file__, "published_runs.txt"):
        run, decoding = runs[name], runs[name].decoding
        values = (run.shots.source, run.shots.number, decoding.method, decoding.temperature)
        assert " ".join(map(str, (*values, decoding.new_tokens, run.dtype))) == shape
        assert " ".join(f"{link.parser}:{link.right}" for link in run.read.answers) == links
        assert str(run.after) == after


def test_extended_runs(folder):
    """A value that is silent is inherited, null takes it back, lists are replaced; broken files unasked for wait."""
    write(folder, "run10", extends="run6", decoding={"new_tokens": 7})
    write(folder, "run6", extends="run5", shots={"number": 3})
    answers = [{"parser": "whole", "right": "equal"}]
    write(folder, "mine", extends="run3", decoding={"temperature": None}, read={"answers": answers})
    runs = read_runs()
    assert list(runs)[-1] == "run10"
    decoding = runs["run10"].decoding
    assert (decoding.new_tokens, decoding.temperature) == (7, 0.1)
    assert runs["run10"].shots.number == 3, "the run6 of this folder, not of the workflow"
    assert (runs["run10"].after, runs["run10"].published) == ("run6", None)
    assert runs["mine"].decoding.options() == {"do_sample": True}
    assert [link.parser for link in runs["mine"].read.answers] == ["whole"]
    assert runs["mine"].read.format == "json_text"
    (folder / "broken.yaml").write_text("a: [")
    assert list(read_runs(runs=["run10", "run1"])) == ["run10", "run1"]
    assert "broken.yaml cannot be read as YAML" in get_problem()


@pytest.mark.parametrize(("keys", "texts"), cases_beside(__file__, "bad_runs.txt"))
def test_bad_run(folder, keys, texts):
    write(folder, "mine", **keys)
    sentence = get_problem(runs=["mine"])
    assert sentence.startswith("config/prompts/mine.yaml: ") and "\n" not in sentence
    assert all(text in sentence for text in texts), sentence


@pytest.mark.parametrize("text", table_beside(__file__, "hostile_templates.txt"))
def test_hostile_template(folder, text):
    write(folder, "mine", extends="run6", messages=[{"role": "user", "content": text[0]}])
    sentence = get_problem(runs=["mine"])
    assert sentence.startswith("config/prompts/mine.yaml: messages[0].content is a template")


def test_unknown_run():
    assert get_problem(runs=["runn6"]).endswith("Did you mean 'run6'?")


def test_explain():
    assert load({"explain": "run6/anatomy/3"}).explained() == ("run6", "anatomy", 3)
    assert load({"explain": "run6"}).explained() == ("run6", None, 0)
    settings = load({"explain": "nq_open/3"})
    assert explained_task(settings) == ("nq_open", 3)
    with pytest.raises(UserError, match="explain is 'nq_open/3'; expected a prompt run"):
        settings.explained()
