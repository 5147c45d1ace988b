"""Files of prompt runs: what they inherit, and that every mistake is a sentence before a job starts."""

import re
from pathlib import Path

import pytest
import yaml

from tests.tables import cases_beside, table_beside
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.prompts.requests import PromptRequest, prompt_request
from workflow_scripts.grid.requests import explained_task
from workflow_scripts.settings.prompts.templates import TemplateError, render

MODEL = "miniature/Llama-1.4M-Instruct"


@pytest.fixture
def folder(here):
    """A working directory with a folder of runs of its own."""
    made = here / "config/prompts"
    made.mkdir(parents=True)
    return made


def write(folder: Path, name: str, **keys) -> None:
    (folder / f"{name}.yaml").write_text(yaml.safe_dump({"changed": "something"} | keys))


def settings(**prompts):
    return load({"prompts": prompts})


def problems(**prompts) -> list[str]:
    with pytest.raises(UserError) as raised:
        settings(**prompts)
    assert raised.value.__cause__ is None
    return raised.value.problems


def test_the_nine_runs_are_the_published_ones():
    runs = load({}).prompt_runs
    for name, shape, links, after in table_beside(__file__, "published_runs.txt"):
        run, decoding = runs[name], runs[name].decoding
        found = (run.shots.source, run.shots.number, decoding.method, decoding.temperature)
        assert " ".join(map(str, (*found, decoding.new_tokens, run.dtype))) == shape
        assert " ".join(f"{link.parser}:{link.right}" for link in run.read.answers) == links
        assert str(run.after) == after
    assert {name: run.first for name, run in runs.items() if run.first} == {"run4_first285": 285}


def test_a_file_more_is_a_run_more_and_one_s_own_comes_before_the_workflow_s(folder):
    write(folder, "run10", extends="run6", decoding={"new_tokens": 7})
    write(folder, "run6", extends="run5", shots={"number": 3})
    runs = settings().prompt_runs
    assert list(runs)[-1] == "run10"
    assert runs["run10"].decoding.new_tokens == 7
    assert runs["run10"].decoding.temperature == 0.1, "what it extends holds where it is silent"
    assert runs["run10"].shots.number == 3, "the run6 of this folder, not of the workflow"
    assert (runs["run10"].after, runs["run10"].published) == ("run6", None)
    assert list(settings(runs=["run10", "run1"]).prompt_runs) == ["run10", "run1"]


def test_null_takes_a_value_back_and_lists_are_replaced(folder):
    write(folder, "mine", extends="run3", decoding={"temperature": None}, read={"answers": [
        {"parser": "whole", "right": "equal"},
    ]})  # fmt: skip
    run = settings(runs=["mine"]).prompt_runs["mine"]
    assert run.decoding.options() == {"do_sample": True}
    assert [link.parser for link in run.read.answers] == ["whole"]
    assert run.read.format == "json_text"


def test_a_broken_file_that_is_not_asked_for_is_left_alone(folder):
    (folder / "broken.yaml").write_text("a: [")
    assert list(settings(runs=["run1"]).prompt_runs) == ["run1"]
    assert not settings(models=[]).prompt_runs
    (sentence,) = problems()
    assert "broken.yaml cannot be read as YAML" in sentence


def message(text: str) -> dict:
    return {"extends": "run6", "messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize(("keys", "texts"), cases_beside(__file__, "bad_runs.txt"))
def test_a_mistake_in_a_run_is_a_sentence_with_file_key_and_value(folder, keys, texts):
    write(folder, "mine", **keys)
    (sentence,) = problems(runs=["mine"])
    assert sentence.startswith("config/prompts/mine.yaml: ") and "\n" not in sentence
    assert all(text in sentence for text in texts), sentence


@pytest.mark.parametrize("text", table_beside(__file__, "hostile_templates.txt"))
def test_hostile_template_is_refused(folder, text):
    write(folder, "mine", **message(text[0]))
    (sentence,) = problems(runs=["mine"])
    assert sentence.startswith("config/prompts/mine.yaml: messages[0].content is a template")


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ({"runs": ["runn6"]}, "prompts.runs has 'runn6'.*Did you mean 'run6'"),
        ({"models": ["miniature/Llama-1.4M"]}, "a base model .*'run1' has messages"),
    ],
)
def test_a_mistake_in_the_section_is_a_sentence(prompts, expected):
    (sentence,) = problems(**prompts)
    assert re.search(expected, sentence), sentence


def test_chunked_checkpoints_and_base_models_with_raw_text_can_be_asked():
    asked = settings(models=[MODEL, "miniature/Qwen2-1M-Instruct@k2m12"]).prompt_checkpoints()
    assert [str(one) for one in asked] == [MODEL, "miniature/Qwen2-1M-Instruct@k2m12"]
    assert settings(models=["miniature/Llama-1.4M"], runs=["run8", "run9"])


@pytest.mark.parametrize(
    ("explain", "expected"),
    [
        ("run6/anatomy/3", ("run6", "anatomy", 3)),
        ("run6", ("run6", None, 0)),
        ("nq_open/3", ("nq_open", 3)),
        ("nq_open", ("nq_open", 0)),
    ],
)
def test_explain_names_a_run_or_a_task(explain, expected):
    settings = load({"explain": explain})
    of_run, of_task = settings.explained, lambda: explained_task(settings)
    if explain.startswith("nq_open"):
        of_run, of_task = of_task, of_run
    assert of_run() == expected
    with pytest.raises(UserError, match="begins with the name of a"):
        of_task()


@pytest.mark.parametrize("explain", ["ss2/3", "mmlu/3", "sst2/first", "rum6", "run6/anatomy/x"])
def test_what_cannot_be_explained_is_refused(explain):
    with pytest.raises(UserError, match=f"^explain is '{explain}'"):
        load({"explain": explain})


def test_what_a_model_is_asked_does_not_hold_how_it_is_read():
    """Or a changed parser would run the model again."""
    settings = load({})
    request = prompt_request(settings, "run6").to_params()
    assert not {"read", "changed", "after", "published", "extends"} & set(request["asking"])
    asked = PromptRequest.of(request)
    assert asked == prompt_request(settings, "run6")
    assert asked.asking.shots == settings.prompt_runs["run6"].shots


def test_a_template_gets_what_it_says():
    values = {"question": "it's <b>", "list": ["a", "b"]}
    assert render("{{ question }}\n", values) == "it's <b>\n"
    assert render('{{ {"Answer": question} | tojson }}', values) == '{"Answer": "it\'s <b>"}'
    assert render("{{ list | join(', ') | upper }}", values) == "A, B"
    with pytest.raises(TemplateError, match="'missing'"):
        render("{{ missing }}", values)
