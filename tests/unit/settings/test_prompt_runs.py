"""Files of prompt runs: what they inherit, and that every mistake is a sentence before a job starts."""

from pathlib import Path

import pytest
import yaml

from tests.tables import cases_beside
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
    for sentence in raised.value.problems:
        assert len(sentence.splitlines()) == 1
        assert sentence.endswith((".", "?"))
    return raised.value.problems


def test_the_nine_runs_are_the_published_ones():
    known = load({}).prompt_runs
    names = [
        "run1", "run2", "run3", "run4", "run4_first285", "run5", "run6", "run7",
        "run7_text", "run8", "run9",
    ]  # fmt: skip
    assert [name for name in known if name != "run4_as_described"][: len(names)] == names
    runs = {name: known[name] for name in names}
    shape = {
        name: (
            run.shots.source,
            run.shots.number,
            run.decoding.method,
            run.decoding.temperature,
            run.decoding.new_tokens,
            run.dtype,
            [(link.parser, link.right) for link in run.read.answers],
        )
        for name, run in runs.items()
    }
    json, else_equal = ("json_text", "equal"), ("not_json", "equal")
    else_occurs = ("not_json", "occurs")
    vendor = ("vendor", 5, "greedy", None, 10, "float16")
    assert shape == {
        "run1": ("hand_made", 2, "sample", None, 10, "bfloat16", [("whole", "occurs")]),
        "run2": ("fixed_dev", 5, "sample", None, 10, "float16", [json, else_equal]),
        "run3": ("fixed_dev", 5, "sample", 0.1, 256, "float16", [json, else_equal]),
        "run4": ("fixed_dev", 5, "sample", None, 256, "float16", [json, else_equal]),
        "run4_first285": ("fixed_dev", 5, "sample", None, 256, "float16", [json, else_equal]),
        "run5": ("fixed_dev", 5, "sample", 0.1, 64, "float16", [json, else_occurs]),
        "run6": ("subject_dev", 5, "sample", 0.1, 20, "float16", [json, else_occurs]),
        "run7": (*vendor, [("best_answer_at_start", "letter")]),
        "run7_text": (*vendor, [("best_answer_at_start", "letter")]),
        "run8": (*vendor, [("leading_letter", "letter")]),
        "run9": ("vendor", 5, "likelihood", None, None, "float16", [("letter", "letter")]),
    }
    assert {name: run.first for name, run in runs.items() if run.first} == {"run4_first285": 285}
    assert [run.after for run in runs.values()] == [
        None, "run1", "run2", "run3", "run3", "run4", "run5", "run6", "run7",
        "run7_text", "run8",
    ]  # fmt: skip
    assert all(run.messages or name in ("run8", "run9") for name, run in runs.items())


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
    (sentence, *more) = problems(runs=["mine"])
    assert sentence.startswith("config/prompts/mine.yaml: ")
    said = " ".join([sentence, *more])
    assert all(text in said for text in texts), said


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ question|attr('__class__') }}",
        "{{ '{0.__class__}'.format(question) }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ shots.append(question) }}",
        "{% for i in range(10000000) %}x{% endfor %}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}{{ os }}",
        "{{ 1 / 0 }}",
    ],
)
def test_hostile_template_is_refused(folder, text):
    write(folder, "mine", **message(text))
    (sentence,) = problems(runs=["mine"])
    assert sentence.startswith("config/prompts/mine.yaml: messages[0].content is a template")


def test_all_problems_of_all_runs_come_at_once(folder):
    write(folder, "one", extends="run6", decoding={"new_tokens": 0})
    write(folder, "two", extends="one", choices="list")
    (folder / "Three.yaml").write_text("changed: x")
    found = problems(runs=["one", "two", "Three"])
    assert len(found) == 2, found  # two is read once one is right
    assert found[0].startswith("config/prompts/one.yaml: decoding.new_tokens is 0")
    assert "small letters" in found[1]


@pytest.mark.parametrize(
    ("prompts", "texts"),
    [
        ({"runs": ["runn6"]}, ("prompts.runs has 'runn6'", "Did you mean 'run6'?")),
        (
            {"folder": "config/promts"},
            ("prompts.folder is 'config/promts'", "beside the Snakefile"),
        ),
        ({"models": ["miniature/Llama-1.4M"]}, ("a base model", "'run1' has messages")),
        (
            {"models": ["miniature/Qwen2-1M-Instruct@k2m11"]},
            ("prompts.models has", "chunking.checkpoints", "@k2m12'?"),
        ),
        ({"max_items_per_subject": 0}, ("prompts.max_items_per_subject is 0",)),
    ],
)
def test_a_mistake_in_the_section_is_a_sentence(prompts, texts):
    (sentence,) = problems(**prompts)
    assert all(text in sentence for text in texts), sentence


def test_chunked_checkpoints_and_base_models_with_raw_text_can_be_asked():
    asked = settings(models=[MODEL, "miniature/Qwen2-1M-Instruct@k2m12"]).prompt_checkpoints()
    assert [str(one) for one in asked] == [MODEL, "miniature/Qwen2-1M-Instruct@k2m12"]
    assert settings(models=["miniature/Llama-1.4M"], runs=["run8", "run9"])


def test_explain_names_a_run():
    assert load({"explain": "run6/anatomy/3"}).explained() == (
        "run6", "anatomy", 3,
    )  # fmt: skip
    assert load({"explain": "run6"}).explained() == ("run6", None, 0)
    for explain, text in (("rum6", "Did you mean 'run6'?"), ("run6/anatomy/x", "match pattern")):
        with pytest.raises(UserError, match="explain is") as raised:
            load({"explain": explain})
        assert text in str(raised.value)


def test_explain_names_a_run_or_a_task_and_each_is_shown_by_its_own_rule():
    def asked(**override):
        return load(override)

    assert explained_task(asked(explain="nq_open/3")) == ("nq_open", 3)
    assert explained_task(asked(explain="nq_open")) == ("nq_open", 0)
    assert explained_task(asked()) == (asked().harmony.tasks[0], 0)
    with pytest.raises(UserError, match="begins with the name of a task; expected a prompt run"):
        asked(explain="nq_open/3").explained()
    with pytest.raises(UserError, match=r"the name of a prompt run; expected a task, as in sst2/3"):
        explained_task(asked(explain="run6/anatomy/3"))


def test_what_a_model_is_asked_does_not_hold_how_it_is_read():
    """Or a changed parser would run the model again."""
    settings = load({})
    request = prompt_request(settings, "run6").as_params()
    assert not {"read", "changed", "after", "published", "extends"} & set(request["asking"])
    asked = PromptRequest.of(request)
    assert asked == prompt_request(settings, "run6")
    assert asked.asking.shots == settings.prompt_runs["run6"].shots


@pytest.mark.parametrize(
    "source, wanted, found",
    [
        ("miniature", None, [None, None]),  # compute.dtype
        ("miniature", "bfloat16", ["bfloat16", "bfloat16"]),
        ("huggingface", None, ["bfloat16", "float16"]),
        ("huggingface", "float32", ["float32", "float32"]),
    ],
)
def test_the_published_number_formats_hold_where_nothing_else_is_said(source, wanted, found):
    settings = load({"prompts": {"dtype": wanted}})
    settings = settings.model_copy(update={"source": source})
    assert [prompt_request(settings, run).asking.dtype for run in ("run1", "run6")] == found


def test_a_template_gets_what_it_says():
    values = {"question": "it's <b>", "list": ["a", "b"]}
    assert render("{{ question }}\n", values) == "it's <b>\n"
    assert render('{{ {"Answer": question} | tojson }}', values) == '{"Answer": "it\'s <b>"}'
    assert render("{{ list | join(', ') | upper }}", values) == "A, B"
    with pytest.raises(TemplateError, match="'missing'"):
        render("{{ missing }}", values)
