"""Test differences from the published protocols: computed from records, and shown in place of a verdict."""

from functools import cache
from typing import Any

import pandas as pd
import pytest
import yaml

from tests.records import TRAINED as TRAINING
from tests.records import record_fields
from tests.unit.settings.merged import ROOT, load
from workflow_scripts.core.records import ItemsFile, Record
from workflow_scripts.evaluation.cells import build_harmony_cells
from workflow_scripts.paper.protocol_differences import compute_differences, withhold_verdicts
from workflow_scripts.render.verdict import AGREES, OTHER_PROTOCOL
from workflow_scripts.studies.ranking.grid_tables import DIRECT, TRAINED

PROTOCOLS = yaml.safe_load((ROOT / "resources/published/protocols.yaml").read_text("utf-8"))
QWEN = "Qwen/Qwen2-0.5B"


@cache
def load_config(name: str):
    return load(yaml.safe_load((ROOT / f"config/{name}.yaml").read_text(encoding="utf-8")))


def make_record(task: str, request: dict[str, Any], *, study="harmony", **changes: Any) -> Record:
    """Make a record; `changes` are protocol fields, and `keys` are training keys."""
    fields = record_fields(study=study, model=changes.pop("model", QWEN), task=task)
    keys = changes.pop("keys", None)
    if keys:
        update = {"keys": keys, "held_out_split": "held_out_of_training"}
        fields["training"] = TRAINING.model_copy(update=update)
    update = {"max_items": 10_000, "attention": "sdpa"} | changes
    fields["protocol"] = fields["protocol"].model_copy(update=update)
    items = ItemsFile(file="x.parquet", sha256="0" * 64, n=4)
    return Record(**fields | {"request": request, "items": items})


def run_exact(task: str = "rte", protocol: str = TRAINED, **changes: Any) -> pd.DataFrame:
    """Return the decisive differences of a config/paper_exact.yaml record with some changes."""
    request = build_harmony_cells(load_config("paper_exact"), protocol, (task,)).split()[task]
    params = request.to_params() | changes.pop("request", {})
    if request.recipe:
        changes["keys"] = request.recipe.model_dump(mode="json") | changes.get("keys", {})
    record = make_record(task, params, name=protocol, **changes)
    table = compute_differences([record], PROTOCOLS, {})
    return table[table["because"].isna()]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"protocol": DIRECT, "dtype": "bfloat16"}, {"number format of the test": "bfloat16"}),
        ({"keys": {"learning_rate": 1e-4}}, {"training: learning rate": "0.0001"}),
        ({"model": "google/gemma-2b"}, {"attention": "sdpa"}),
        ({"task": "medmcqa"}, {"split to choose the epoch on": "held_out_of_training"}),
        ({"request": {"draws": "own"}}, {"draws of test, training and held-out items": "own"}),
    ],
)
def test_record_differences(changes, expected):
    differences = run_exact(**changes)
    pairs = zip(differences["what"], differences["ours"], strict=True)
    assert list(pairs) == list(expected.items())


def test_configured_recipes_match_published_protocols():
    exact = load_config("paper_exact")
    facts = PROTOCOLS["harmony"]["facts"]
    decisive = {fact.get("key", ""): fact["is"] for fact in facts if "because" not in fact}
    recipe = exact.task_recipe.model_dump(mode="json")
    keys = {f"training.keys.{key}": value for key, value in recipe.items()}
    assert {"training.keys.lora_rank", "training.keys.epochs"} < keys.keys() & decisive.keys()
    changed = {"training.keys.precision", "training.keys.training_text"}  # auto, and by task
    shared = keys.keys() & decisive.keys() - changed
    assert {key: keys[key] for key in shared} == {key: decisive[key] for key in shared}
    for stage, keys in PROTOCOLS["mmlu"]["recipes"].items():
        recipe = load_config("paper").training.recipes[stage].model_dump(mode="json")
        recipe["precision"] = "bfloat16"  # `auto` means bfloat16 on GPUs
        assert {key: recipe[key] for key in keys} == keys


def test_difference_withholds_affected_verdicts():
    cases = [("score", "rte"), ("score", "sst2"), (DIRECT, "rte")]
    row = {"source": "harmony_leaderboard", "of": QWEN, "difference": 0.01, "z": 0.4}
    rows = [
        row | {"metric": metric, "item": item, "verdict": AGREES, "because": None}
        for metric, item in cases
    ]
    table = withhold_verdicts(pd.DataFrame(rows), run_exact(keys={"epochs": 3}))
    assert table["verdict"].tolist() == [OTHER_PROTOCOL, AGREES, AGREES]
    assert table.loc[0, "because"] == "training: epochs (3 here, 5 there)"
    assert table["z"].isna().tolist() == [True, False, False]
