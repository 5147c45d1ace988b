"""Test the export to Every Eval Ever's JSON: valid by its schema, with the same scores after reimport."""

import json
from pathlib import Path

import jsonschema
import pandas as pd
import pytest

from tests.records import (
    TRAINED,
    collect,
    make_items,
    record_fields,
    write_example,
)
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.paper import share

SCHEMA = Path(__file__).parent / "vendor/every_eval_ever/eval.schema.json"
DATA = "data/chorus-harmony"
KEYS = ["protocol", "task", "subset", "model", "variant", "metric", "seed"]


@pytest.fixture
def records(here) -> list[Path]:
    """Write records: two zero-shot models, a fine-tuned model with two seeds, a task group, and a failed cell."""
    folder = Path("results/records")
    write_example(folder / "a/sst2.json", golds=("0", "1", "0", "0"), value=0.75)
    write_example(folder / "b/sst2.json", model="org/net@k2m12+cpt", value=0.5)
    for seed in (0, 1):
        fields = record_fields(value=0.5, seed=seed) | {"training": TRAINED}
        fields["protocol"] = fields["protocol"].model_copy(update={"name": "train_before_test"})
        write_record(folder / f"trained/sst2.{seed}.json", make_items(), **fields)
    fields = record_fields(task="mmlu", n=8)
    overall = fields["metrics"][0]
    parts = [overall.model_copy(update={"subset": name, "n": 4}) for name in ("law", "art")]
    macro = Metric(**overall.model_dump() | {"name": "acc_macro"})
    fields["metrics"] = (*parts, overall, macro)
    items = [item for name in ("law", "art") for item in make_items(name)]
    write_record(folder / "a/mmlu.json", items, **fields)
    broken = {"record": "b/mmlu", "reason": "It ran out of memory.", "log": "logs/b.log"}
    (folder / "b/mmlu.json").write_text(json.dumps({"broken": broken}))
    return sorted(folder.rglob("*.json"))


def run_share(records: list[Path], target="share") -> Path:
    share.main(records, Path(target))
    return Path(target)


def test_reimported_scores_are_the_same(records):
    tables = [collect(records)[0], collect(folder=run_share(records) / DATA)[0]]
    own, reimported = (
        table.drop(columns="study").sort_values(KEYS, ignore_index=True) for table in tables
    )
    assert len(own) == 8
    pd.testing.assert_frame_equal(own, reimported)


def test_shared_files_fit_schema(records):
    folder, names, schema = run_share(records), set(), json.loads(SCHEMA.read_text())
    files = sorted(path.relative_to(folder) for path in folder.rglob("*.json"))
    for file in files:
        content = json.loads((folder / file).read_text())
        jsonschema.validate(content, schema)
        names |= {result["evaluation_name"] for result in content["evaluation_results"]}
    assert len(files) == 5 and names >= {"sst2", "sst2/train_before_test", "mmlu/law"}
    again = run_share(records, "again")
    assert all((folder / file).read_bytes() == (again / file).read_bytes() for file in files)
