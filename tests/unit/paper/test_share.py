"""What a run is shared as: JSON of Every Eval Ever, held to its schema, and the same scores when it is read back."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.records import (
    TRAINED,
    imported_scores,
    make_items,
    plain_import,
    record_fields,
    write_example,
)
from tests.unit.settings.merged import ROOT, load
from workflow_scripts.core.conditions import Condition
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.paper.share import share
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.scores.foreign import every_eval_ever, imports
from workflow_scripts.scores.foreign.cells import KnownModel
from workflow_scripts.scores.tidy import collect_scores
from workflow_scripts.settings.grids import CORRELATIONS, OWN_GRID
from workflow_scripts.studies.ranking import build_grid
from workflow_scripts.studies.ranking.grid_settings import list_grid_models, read_grid_settings

DATA = "every_eval_ever/data/chorus-harmony"
NET = KnownModel(model="org/net", family="Nets", parameters=7_000, kind="base", tokens_billion=0.5)
KEYS = ["protocol", "task", "subset", "model", "variant", "metric", "seed"]


@pytest.fixture
def run(here):
    """A folder with records: two models as they are, one trained twice, a group of tasks, and one that broke."""
    folder = Path("results/records/harmony")
    write_example(folder / "direct/a/sst2.json", golds=("0", "1", "0", "0"), value=0.75)
    write_example(folder / "direct/b/sst2.json", model="org/net@k2m12+cpt", value=0.5)
    for seed in (0, 1):
        fields = record_fields(value=0.5, seed=seed) | {"training": TRAINED}
        fields["protocol"] = fields["protocol"].model_copy(update={"name": "train_before_test"})
        items = [replace(one, cluster=f"of {int(one.item[-1]) // 2}") for one in make_items()]
        write_record(folder / f"train_before_test/a/sst2.{seed}.json", items, **fields)
    fields = record_fields(task="mmlu", n=8)
    whole_task = fields["metrics"][0]
    parts = [whole_task.model_copy(update={"subset": name, "n": 4}) for name in ("law", "art")]
    fields["metrics"] = (
        *parts,
        whole_task,
        Metric(**whole_task.model_dump() | {"name": "acc_macro"}),
    )
    items = [one for name in ("law", "art") for one in make_items(name)]
    write_record(folder / "direct/a/mmlu.json", items, **fields)
    broken = {"record": "b/mmlu", "reason": "It ran out of memory.", "log": "logs/b.log"}
    (folder / "direct/b/mmlu.json").write_text(json.dumps({"broken": broken}))
    return here


def shared(target="share") -> Path:
    records = sorted(map(str, Path("results").rglob("*.json")))
    request = {"models": [NET.model_dump()]}
    share(Inputs({"records": records}), request, {"folder": Path(target)})
    return Path(target)


def write_latency() -> None:
    fields = record_fields(study="chunking")
    fields["protocol"] = fields["protocol"].model_copy(update={"name": "latency"})
    write_record(Path("results/records/chunking/latency.json"), make_items(), **fields)


def scores_and_errors(**inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    files = {"scores": Path("scores.parquet"), "errors": Path("errors.parquet")}
    collect_scores({"records": [], **inputs}, {}, files)
    scores, errors = (pd.read_parquet(path).drop(columns="study") for path in files.values())
    return scores.sort_values(KEYS, ignore_index=True), errors


def test_what_is_read_back_has_the_same_scores_and_errors(run):
    folder = shared()
    imports.import_results({}, plain_import(folder / DATA).as_params(), {"folder": Path("back")})
    theirs = scores_and_errors(imports=[Path("back")])
    records = [
        path for path in Path("results/records").rglob("*.json") if "b/mmlu" not in str(path)
    ]
    ours = scores_and_errors(records=sorted(records))
    assert len(ours[0]) == 8 and len(ours[1]) == 5, "trained twice is one row of errors"
    assert set(ours[0]["subset"].dropna()) == {"law", "art"}
    for one, other in zip(ours, theirs, strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_all_that_was_shared_can_be_read_at_once(run):
    """Also what another study asked of the same model, in two number formats; plans that were varied are not read."""
    for dtype in ("float32", "bfloat16"):
        fields = record_fields(study="suite")
        fields["protocol"] = fields["protocol"].model_copy(update={"dtype": dtype})
        write_record(Path(f"results/records/suite/{dtype}.json"), make_items(), **fields)
    fields = record_fields(study="chunking", task="wikitext", n=4)
    (metric,), plan = fields["metrics"], Condition(plan="k2m12")
    fields["metrics"] = (metric.model_copy(update={"condition": plan}),)
    items = [replace(one, condition=plan) for one in make_items()]
    write_record(Path("results/records/chunking/texts.json"), items, **fields)
    folder = shared()
    imports.import_results({}, plain_import(folder).as_params(), {"folder": Path("back")})
    scores = imported_scores(Path("back"))
    assert set(scores["task"]) == {"sst2", "mmlu"}
    of_model = scores[(scores["model"] == "miniature/Llama-1.4M") & (scores["task"] == "sst2")]
    direct = of_model[of_model["protocol"] == "direct"]
    assert dict(zip(direct["study"], direct["value"], strict=True)) == {
        "theirs": 0.75,
        "theirs (suite)": 0.5,
        "theirs (suite, bfloat16)": 0.5,
    }


def test_a_model_that_the_table_of_models_lacks_has_the_size_it_had_where_it_was_measured(run):
    """In the tables that figures by size are drawn from; a model that the table has is as it is there."""
    about = ["protocol", "model", "variant", "family", "parameters", "kind", "tokens_billion"]
    folder = shared()
    imports.import_results({}, plain_import(folder / DATA).as_params(), {"folder": Path("back")})
    config = load({"harmony": {"models": []}})
    settings, known = read_grid_settings(config), list_grid_models(config, OWN_GRID)
    elsewhere = NET.model_dump() | {"family": "Ours", "tokens_billion": None}

    def by_size(imported, *models, **inputs):
        scores_and_errors(**inputs)
        files = {"errors": Path("errors.parquet"), "imports": imported}
        grid = {"cells": Path("cells.parquet"), "models": Path("models.parquet")}
        more = {"settings": settings, "known_models": [*known, *models], "wanted": {}}
        build_grid.main([Path("scores.parquet")], ROOT / CORRELATIONS, **files, **grid, **more)
        made = pd.read_parquet("models.parquet")
        return made.sort_values(about, ignore_index=True)[about]

    records = [one for one in Path("results/records").rglob("*.json") if "b/mmlu" not in str(one)]
    ours = by_size([], NET.model_dump(), records=sorted(records))
    assert ours[ours["model"] == "org/net"]["parameters"].tolist() == [NET.parameters]
    back = [Path("back")]
    pd.testing.assert_frame_equal(by_size(back, imports=back), ours)
    assert set(by_size(back, elsewhere, imports=back)["family"]) >= {"Ours"}


def test_trained_scores_are_evaluations_and_models_of_their_own(run):
    folder = shared()
    found = [json.loads(path.read_text()) for path in (folder / DATA).rglob("*.json")]
    names = {
        (
            one["model_info"]["id"],
            result["evaluation_name"],
            "trained_on" in one["model_info"]["additional_details"],
        )
        for one in found
        for result in one["evaluation_results"]
    }
    assert ("miniature/Llama-1.4M", "sst2", False) in names
    assert ("miniature/Llama-1.4M", "sst2/train_before_test", True) in names
    assert ("org/net@k2m12+cpt", "sst2", False) in names


def test_every_line_of_items_is_held_to_the_schema_too(run):
    lines = [
        json.loads(line)
        for path in shared().rglob("*_samples.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert len(lines) == 24
    for line in lines:
        every_eval_ever.held_to_schema(Path("lines"), line, "instance_level_eval")


def test_nothing_but_evaluations_is_written_and_of_the_same_records_the_same(run):
    write_latency()
    files, again = (
        {path.relative_to(top): path.read_bytes() for path in top.rglob("*") if path.is_file()}
        for top in (shared(), shared("again"))
    )
    assert files == again and len(files) == 10, "an evaluation and its items for each of 5 records"
    assert all(path.is_relative_to(DATA) for path in files)


def test_what_cannot_be_shared_is_one_sentence_and_nothing_is_left(run, monkeypatch):
    def refused(said):
        with pytest.raises(UserError, match=said) as caught:
            shared()
        assert len(caught.value.problems) == 1
        assert not list(Path().glob("*share*"))

    with monkeypatch.context() as away:
        away.setattr(every_eval_ever, "_FOLDER", Path("gone"))
        every_eval_ever._validator.cache_clear()
        refused(
            r"The schema gone/.*schema\.json cannot be read .*; expected it as the repository has it"
        )
    record = Path("results/records/harmony/direct/a/sst2.json")
    whole_text = record.read_text()
    record.write_text(whole_text.replace('"shots": 0', '"shots": 3'))
    refused(r"sst2\.json was altered")
    record.write_text(whole_text[:-20])
    refused(r"sst2\.json is not a JSON record")
    for path in Path("results/records").rglob("*.json"):
        if "b/mmlu" not in str(path):
            path.unlink()
    write_latency()
    refused("There is no record to share; expected a config that measures scores")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda one: one["evaluation_results"][0]["score_details"].update(score="high"),
            "'high' is not of type",
        ),
        (
            lambda one: one.update(schema_version="0.1.0"),
            r"schema_version is 0\.1\.0; expected 0\.3\.0",
        ),
        (
            lambda one: one["detailed_evaluation_results"].update(checksum="0"),
            "was altered: its sha256",
        ),
        (
            lambda one: one["evaluation_results"][0].pop("generation_config"),
            "not how many examples",
        ),
        (
            lambda one: one["evaluation_results"][0]["generation_config"][
                "additional_details"
            ].update(protocol="guess"),
            "protocol: .*direct",
        ),
        (
            lambda one: one["evaluation_results"][0]["score_details"].update(score=0.9),
            "the mean of acc over its items",
        ),
    ],
)
def test_a_doctored_evaluation_is_refused_in_a_sentence(run, change, said):
    folder = shared() / DATA / "org"
    (path,) = folder.rglob("*.json")
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=said) as caught:
        imports.import_results({}, plain_import(folder).as_params(), {"folder": Path("back")})
    assert len(caught.value.problems) == 1 and not Path("back").exists()
