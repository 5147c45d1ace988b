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
from workflow_scripts.miniature.families import ALL_EXAMS

SCHEMAS = yaml.safe_load(Path(__file__).with_name("schemas.yaml").read_text())
CONFIGS = [(repository, config) for repository, of in SCHEMAS.items() for config in of]
EVALUATED = [*ALL_EXAMS, "truthfulqa_mc2"]


def spelled(feature):
    """A feature in the spelling of the expected schemas."""
    if isinstance(feature, ClassLabel):
        return " or ".join(feature.names)
    if isinstance(feature, List):
        return [spelled(feature.feature)]
    if isinstance(feature, Value):
        return feature.dtype
    return {name: spelled(inner) for name, inner in feature.items()}


@pytest.fixture(scope="module")
def tasks(world):
    with mirror(world):
        yield load_tasks(EVALUATED)


@pytest.mark.parametrize(("repository", "config"), CONFIGS, ids=lambda part: part.split("/")[-1])
def test_columns_and_splits_are_the_real_ones(world, tmp_path, repository, config):
    folder = world / "datasets" / repository
    dataset = load_dataset(str(folder), config, cache_dir=str(tmp_path))
    expected = SCHEMAS[repository][config]
    assert set(dataset) == set(expected["splits"])
    assert spelled(dict(dataset[expected["splits"][0]].features)) == expected["columns"]


def test_every_dataset_has_a_card_a_licence_and_a_manifest_that_holds(world):
    made = {str(one.parent) for one in world.glob("datasets/*/*/manifest.json")}
    assert made == {str(world / "datasets" / name) for name in catalogue.DATASETS}
    for name in catalogue.DATASETS:
        folder = world / "datasets" / name
        manifest = read_manifest(folder / "manifest.json")
        assert (manifest.repository, manifest.source) == (name, "miniature")
        assert manifest.licence == "apache-2.0"
        assert verify(folder, manifest) == []
        assert (folder / "README.md").read_text().count("description: sha256:") >= 1


@pytest.mark.parametrize("name", EVALUATED)
def test_lm_eval_builds_its_requests_from_every_task(tasks, name):
    task = tasks[name]
    task.set_config("num_fewshot", 0)
    task.build_all_requests(rank=0, world_size=1)
    assert len(task.eval_docs) == 24
    assert len(task.instances) >= len(task.eval_docs)


# Of the others the right answer has no place among choices, or always the same one.
LABELLED = sorted(set(ALL_EXAMS) - {"nq_open", "gsm8k", "sciq"})


@pytest.mark.parametrize("name", LABELLED)
def test_no_label_rules_and_none_is_missing(tasks, name):
    task = tasks[name]
    docs = list(task.training_docs())
    winogrande = name == "winogrande"  # whose "text" is the index of the right context
    answers = Counter(
        str((task.doc_to_text if winogrande else task.doc_to_target)(d)) for d in docs
    )
    choices = 2 if winogrande else max(len(task.doc_to_choice(doc)) for doc in docs)
    assert max(answers.values()) / len(docs) < 1.35 / min(choices, len(answers))
    # The fourth and fifth place are rare where most questions have fewer choices.
    assert min(n for _, n in answers.most_common(3)) / len(docs) > 0.5 / choices


def test_arc_has_numbered_labels_and_three_to_five_choices(world, tmp_path):
    rows = load_dataset(
        str(world / "datasets/allenai/ai2_arc"), "ARC-Easy", cache_dir=str(tmp_path)
    )
    choices = [row["choices"] for row in rows["train"]]
    assert {len(c["text"]) for c in choices} == {3, 4, 5}
    assert {c["label"][0] for c in choices} == {"A", "1"}


def test_withheld_answers_are_withheld(world, tmp_path):
    def column(repository, config, split, name):
        folder = str(world / "datasets" / repository)
        return set(load_dataset(folder, config, cache_dir=str(tmp_path))[split][name])

    assert column("nyu-mll/glue", "sst2", "test", "label") == {-1}
    assert column("aps/super_glue", "wic", "test", "label") == {-1}
    assert column("Rowan/hellaswag", "default", "test", "label") == {""}
    assert column("allenai/winogrande", "winogrande_xl", "test", "answer") == {""}
    assert column("tau/commonsense_qa", "default", "test", "answerKey") == {""}
    assert column("openlifescienceai/medmcqa", "default", "test", "cop") == {-1}


def test_gsm8k_ends_in_its_result_and_marks_its_steps(world, tmp_path):
    folder = str(world / "datasets/openai/gsm8k")
    for row in load_dataset(folder, "main", cache_dir=str(tmp_path))["test"]:
        steps, result = row["answer"].rsplit("\n#### ", 1)
        marked = [step.split(">>")[0] for step in steps.split("<<")[1:]]
        assert all(eval(step.split("=")[0]) == int(step.split("=")[1]) for step in marked)
        assert marked[-1].endswith(f"={result}")
