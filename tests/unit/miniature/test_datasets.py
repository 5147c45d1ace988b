"""The generated datasets stand in for the real ones: same columns, readable by the same code."""

from collections import Counter
from pathlib import Path

import pytest
import yaml
from datasets import ClassLabel, List, Value, load_dataset

from workflow_scripts.hub.manifest import read_manifest, verify
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks
from workflow_scripts.miniature import catalogue
from workflow_scripts.miniature.specs import ALL_EXAMS

SCHEMAS = yaml.safe_load(Path(__file__).with_name("schemas.yaml").read_text())
CONFIGS = [(repository, config) for repository, of in SCHEMAS.items() for config in of]
EVALUATED = [*ALL_EXAMS, "truthfulqa_mc2"]


def spell(feature):
    """Return a feature in the spelling of the expected schemas."""
    if isinstance(feature, ClassLabel):
        return " or ".join(feature.names)
    if isinstance(feature, List):
        return [spell(feature.feature)]
    if isinstance(feature, Value):
        return feature.dtype
    return {name: spell(inner) for name, inner in feature.items()}


@pytest.fixture(scope="module")
def tasks(world):
    with mirror(world):
        yield load_tasks(EVALUATED)


@pytest.fixture
def load(world, tmp_path):
    return lambda name, config: load_dataset(
        str(world / "datasets" / name), config, cache_dir=str(tmp_path)
    )


@pytest.mark.parametrize(("repository", "config"), CONFIGS, ids=lambda part: part.split("/")[-1])
def test_columns_and_splits_are_the_real_ones(load, repository, config):
    dataset = load(repository, config)
    expected = SCHEMAS[repository][config]
    assert set(dataset) == set(expected["splits"])
    assert spell(dict(dataset[expected["splits"][0]].features)) == expected["columns"]


def test_every_dataset_has_a_manifest_that_holds(world):
    made = {path.parent for path in world.glob("datasets/*/*/manifest.json")}
    assert made == {world / "datasets" / name for name in catalogue.DATASETS}
    for folder in made:
        manifest = read_manifest(folder / "manifest.json")
        assert (manifest.source, manifest.licence) == ("miniature", "apache-2.0")
        assert verify(folder, manifest) == []


@pytest.mark.parametrize("name", EVALUATED)
def test_lm_eval_builds_its_requests(tasks, name):
    task = tasks[name]
    task.set_config("num_fewshot", 0)
    task.build_all_requests(rank=0, world_size=1)
    assert len(task.eval_docs) == 24
    assert len(task.instances) >= len(task.eval_docs)


# Of the others the right answer has no place among choices, or always the same one.
@pytest.mark.parametrize("name", sorted(set(ALL_EXAMS) - {"nq_open", "gsm8k", "sciq"}))
def test_no_label_prevails(tasks, name):
    task = tasks[name]
    docs = list(task.training_docs())
    is_winogrande = name == "winogrande"  # whose "text" is the index of the right context
    get_answer = task.doc_to_text if is_winogrande else task.doc_to_target
    answers = Counter(str(get_answer(doc)) for doc in docs)
    choices = 2 if is_winogrande else max(len(task.doc_to_choice(doc)) for doc in docs)
    assert max(answers.values()) / len(docs) < 1.35 / min(choices, len(answers))
    # The fourth and fifth place are rare where most questions have fewer choices.
    assert min(n for _, n in answers.most_common(3)) / len(docs) > 0.5 / choices


def test_arc_has_numbered_labels_and_three_to_five_choices(load):
    choices = [row["choices"] for row in load("allenai/ai2_arc", "ARC-Easy")["train"]]
    assert {len(c["text"]) for c in choices} == {3, 4, 5}
    assert {c["label"][0] for c in choices} == {"A", "1"}


@pytest.mark.parametrize(
    ("name", "config", "column", "withheld"),
    [
        ("nyu-mll/glue", "sst2", "label", -1),
        ("aps/super_glue", "wic", "label", -1),
        ("Rowan/hellaswag", "default", "label", ""),
        ("allenai/winogrande", "winogrande_xl", "answer", ""),
        ("tau/commonsense_qa", "default", "answerKey", ""),
        ("openlifescienceai/medmcqa", "default", "cop", -1),
    ],
)
def test_answers_are_withheld(load, name, config, column, withheld):
    assert set(load(name, config)["test"][column]) == {withheld}


def test_gsm8k_ends_in_its_result_and_marks_its_steps(load):
    for row in load("openai/gsm8k", "main")["test"]:
        steps, result = row["answer"].rsplit("\n#### ", 1)
        marked = [step.split(">>")[0] for step in steps.split("<<")[1:]]
        assert all(eval(step.split("=")[0]) == int(step.split("=")[1]) for step in marked)
        assert marked[-1].endswith(f"={result}")
