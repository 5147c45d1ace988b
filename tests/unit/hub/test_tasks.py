"""Training text is, to the letter, one of the requests that the evaluator makes."""

from pathlib import Path

import pytest

from tests.workflow.snakemake import ROOT
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import (
    _definitions,
    load_tasks,
    prompt_and_completion,
    runs_generated_code,
)
from workflow_scripts.settings.tables import TaskRow, read_table

MULTIPLE_CHOICE = (
    *("cola", "mnli", "qnli", "rte", "mrpc", "qqp", "sst2", "boolq", "wic", "anli_r1"),
    *("commonsense_qa", "social_iqa", "winogrande", "openbookqa", "hellaswag", "arc_easy"),
    *("arc_challenge", "headqa_en", "mathqa", "medmcqa", "piqa", "sciq"),
)
GENERATION = ("nq_open", "gsm8k")


@pytest.mark.parametrize("name", [*MULTIPLE_CHOICE, *GENERATION])
def test_the_pair_is_the_evaluators_own_request_for_the_right_answer(world, name):
    with mirror(world):
        (task,) = load_tasks([name]).values()
        task.set_config("num_fewshot", 0)
        task.build_all_requests(limit=5, rank=0, world_size=1)
        for doc in list(task.eval_docs)[:5]:
            prompt, completion = prompt_and_completion(task, doc)
            requests = [one.args for one in task.instances if one.doc == doc]
            if name in GENERATION:
                description = task.config.description or ""
                assert description + prompt == requests[0][0]
                continue
            assert (prompt, completion) in requests
            chosen = requests.index((prompt, completion))
            scored = [(0.0, True) if at == chosen else (-1e9, False) for at in range(len(requests))]
            metrics = task.process_results(doc, scored)
            assert metrics.get("acc", 1.0) == 1.0, "the completion is the right answer"


def test_an_unknown_task_is_named(world):
    with mirror(world), pytest.raises(UserError, match="no task 'arc_eazy'"):
        load_tasks(["arc_eazy"])


def test_a_template_is_compiled_once_and_not_for_each_item(world, monkeypatch):
    from lm_eval.utils import env

    compiled = []
    compiler = env.compile
    monkeypatch.setattr(env, "compile", lambda source: compiled.append(source) or compiler(source))
    # Forget what other tests had compiled.
    monkeypatch.delitem(vars(env), "from_string", raising=False)
    with mirror(world):
        (task,) = load_tasks(["arc_easy"]).values()
        documents = list(task.eval_docs)[:8]
        assert len({task.doc_to_text(document) for document in documents}) == 8
    assert 0 < len(compiled) == len(set(compiled))


def test_a_dataset_s_folder_is_looked_into_once_for_all_its_configurations(world, monkeypatch):
    import datasets
    from huggingface_hub import DatasetCard

    parsed = []
    load = DatasetCard.load
    monkeypatch.setattr(DatasetCard, "load", lambda path: parsed.append(path) or load(path))
    with mirror(world):
        anatomy = datasets.load_dataset("cais/mmlu", "anatomy", split="test")
        virology = datasets.load_dataset("cais/mmlu", "virology", split="test")
    assert set(anatomy["subject"]) == {"anatomy"} and set(virology["subject"]) == {"virology"}
    assert len(parsed) == 1


@pytest.mark.parametrize("name", ["humaneval", "humaneval_64_instruct", "mbpp", "mbpp_plus"])
def test_tasks_that_run_what_a_model_writes_are_known_by_their_definition(name):
    assert runs_generated_code(name)


def test_no_task_of_the_table_does():
    rows = read_table(TaskRow, ROOT / "config/tasks.tsv").values()
    assert not [row.task for row in rows if runs_generated_code(row.harness_task)]


def test_all_that_lm_eval_marks_are_found():
    """As lm-eval itself reads each of its definitions that hold the mark."""
    import lm_eval
    from lm_eval.tasks._yaml_loader import load_yaml

    marking = {
        path.parent
        for path in Path(lm_eval.__file__).parent.glob("tasks/*/*")
        if path.is_file() and b"unsafe_code" in path.read_bytes()
    }
    found = {
        name: load_yaml(file, resolve_func=False).get("unsafe_code", False)
        for name, files in _definitions().items()
        for file in files
        if file.parent in marking
    }
    assert sum(found.values()) >= 10
    assert not [name for name, marked in found.items() if marked and not runs_generated_code(name)]
