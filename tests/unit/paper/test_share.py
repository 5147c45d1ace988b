"""Shared runs: JSON of Every Eval Ever, valid by its schema, and the same scores when it is read back."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.records import (
    TRAINED,
    make_items,
    make_plain_import,
    record_fields,
    write_example,
)
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.paper.share import share
from workflow_scripts.scores.foreign.cells import KnownModel, read_cells
from workflow_scripts.scores.foreign.every_eval_ever import check_schema
from workflow_scripts.scores.foreign.imports import import_results
from workflow_scripts.scores.tidy import collect_scores

DATA = "every_eval_ever/data/chorus-harmony"
NET = KnownModel(model="org/net", family="Nets", parameters=7_000, kind="base", tokens_billion=0.5)
KEYS = ["protocol", "task", "subset", "model", "variant", "metric", "seed"]


@pytest.fixture
def records(here) -> list[Path]:
    """Write records: two models as they are, one trained twice, a group of tasks, plans, and one that broke."""
    folder = Path("results/records")
    write_example(folder / "a/sst2.json", golds=("0", "1", "0", "0"), value=0.75)
    write_example(folder / "b/sst2.json", model="org/net@k2m12+cpt", value=0.5)
    for seed in (0, 1):
        fields = record_fields(value=0.5, seed=seed) | {"training": TRAINED}
        fields["protocol"] = fields["protocol"].model_copy(update={"name": "train_before_test"})
        items = [replace(item, cluster=f"of {int(item.item[-1]) // 2}") for item in make_items()]
        write_record(folder / f"trained/sst2.{seed}.json", items, **fields)
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
    share({"records": records}, {"models": [NET.model_dump()]}, {"folder": Path(target)})
    return Path(target)


def import_back(folder: Path) -> Path:
    import_results({}, make_plain_import(folder), {"folder": Path("back")})
    return Path("back")


def collect(**inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    files = {"scores": Path("scores.parquet"), "errors": Path("errors.parquet")}
    collect_scores({"records": [], **inputs}, {}, files)
    scores, errors = (pd.read_parquet(path).drop(columns="study") for path in files.values())
    return scores.sort_values(KEYS, ignore_index=True), errors


def test_reimported_scores_are_the_same(records):
    reimported = collect(imports=[import_back(run_share(records) / DATA)])
    own = collect(records=records)
    assert len(own[0]) == 8 and len(own[1]) == 5, "trained twice is one row of errors"
    for expected, result in zip(own, reimported, strict=True):
        pd.testing.assert_frame_equal(expected, result)
    bases = {cell.model: cell.base for cell in read_cells(Path("back"))}
    assert bases["org/net"] == NET


def test_shared_files_fit_schema(records):
    folder, names = run_share(records), set()
    files = sorted(path.relative_to(folder) for path in folder.rglob("*.json"))
    for file in files:
        content = json.loads((folder / file).read_text())
        check_schema(file, content)
        names |= {result["evaluation_name"] for result in content["evaluation_results"]}
    assert len(files) == 5 and names >= {"sst2", "sst2/train_before_test", "mmlu/law"}
    second_folder = run_share(records, "again")
    assert all(
        (folder / file).read_bytes() == (second_folder / file).read_bytes() for file in files
    )


def test_altered_record_is_not_shared(records):
    text = records[0].read_text()
    records[0].write_text(text.replace('"shots": 0', '"shots": 3'))
    with pytest.raises(UserError, match="was altered"):
        run_share(records)
    assert not Path("share").exists()
    with pytest.raises(UserError, match="There is no record to share"):
        run_share([])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log, detail: detail.update(score=0.9), "the mean over its items"),
        (lambda log, _: log["detailed_evaluation_results"].update(checksum="0"), "was altered"),
    ],
)
def test_doctored_evaluation_is_refused(records, change, message):
    folder = run_share(records) / DATA / "org"
    (path,) = folder.rglob("*.json")
    content = json.loads(path.read_text())
    change(content, content["evaluation_results"][0]["score_details"])
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        import_back(folder)
    assert not Path("back").exists()
