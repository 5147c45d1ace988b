"""Damaged files are found by their checksums, named, and set aside; whole ones are left alone."""

import json

import numpy as np
import pytest

from tests.records import write_example
from tests.tiny_models import sealed
from tests.training_records import training_record
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_file
from workflow_scripts.hub.damage import find_damage, verify_files
from workflow_scripts.training.samples import Sample, SampleWriter

MODEL, RECORD = "hub/models/a/m1", "results/records/harmony/direct/m1/sst2"


@pytest.fixture
def folder(here):
    for number in range(2):
        model = here / f"hub/models/a/m{number}"
        model.mkdir(parents=True)
        (model / "model.safetensors").write_bytes(bytes(range(200)))
        sealed(model, f"a/m{number}")
        write_example(here / f"results/records/harmony/direct/m{number}/sst2.json")
    return here


def flip(path, at=100):
    """One bit, as a failing disk does: the size stays, and the time can be set back."""
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_what_is_whole_is_left_as_it_is(folder, capsys):
    before = files(folder)
    verify_files({}, {"hub": folder / "hub"}, {})
    assert files(folder) == before
    said = capsys.readouterr().out
    assert "as it was written: 2 files of the hub, of checkpoints and of samples, 2 records" in said


@pytest.mark.parametrize(
    ("damaged", "aside", "said"),
    [
        (f"{MODEL}/model.safetensors", [f"{MODEL}/manifest.json"], "model.safetensors was altered: its sha256 is not"),
        (f"{MODEL}/manifest.json", [f"{MODEL}/manifest.json"], "m1/manifest.json"),
        (f"{RECORD}.parquet", [f"{RECORD}.json", f"{RECORD}.parquet"], "m1/sst2.parquet was altered"),
    ],
)  # fmt: skip
def test_one_bit_is_found_named_and_set_aside(folder, damaged, aside, said):
    before = files(folder)
    flip(folder / damaged, at=0 if damaged.endswith("manifest.json") else 100)
    with pytest.raises(UserError) as error:
        verify_files({}, {"hub": folder / "hub"}, {})
    assert said in error.value.problems[0]
    assert f"{aside[0]} is set aside" in error.value.problems[-1]
    assert before - files(folder) == set(aside), "the next run makes these anew, and no others"
    assert not find_damage(folder / "hub", folder / "results"), (
        "what was set aside is not seen again"
    )


def test_a_flipped_bit_of_a_training_record_is_found(folder):
    path = folder / "results/training/m0+sft.json"
    training_record(base="a/m0", trained="a/m0+sft").write(path)
    assert not find_damage(folder / "hub", folder / "results")
    flip(path, at=path.read_bytes().index(b'"steps": 20') + len('"steps": '))
    (found,) = find_damage(folder / "hub", folder / "results").values()
    assert found == [f"{path} was altered: it is not what its own sha256 says."]


def test_a_missing_file_of_the_hub_is_damage_too(folder):
    (folder / "hub/models/a/m0/model.safetensors").unlink()
    (found,) = find_damage(folder / "hub", folder / "results").values()
    assert found == [f"{folder / 'hub/models/a/m0/model.safetensors'} is missing."]


def test_a_record_whose_numbers_were_changed_by_hand_is_damage(folder):
    path = folder / "results/records/harmony/direct/m0/sst2.json"
    fields = json.loads(path.read_text())
    fields["metrics"][0]["n"] = 3
    path.write_text(json.dumps(fields))
    assert list(find_damage(folder / "hub", folder / "results")) == [path]


def test_the_record_of_a_cell_that_broke_is_whole_and_is_not_counted(folder, capsys):
    path = folder / "results/records/harmony/direct/m1/sst2.json"
    about = {"record": str(path), "reason": "It died.", "log": "logs/x.log"}
    path.write_text(json.dumps({"broken": about}))
    verify_files({}, {"hub": folder / "hub"}, {})
    assert "1 records with their items" in capsys.readouterr().out


@pytest.fixture
def samples(folder):
    """What a recipe was tokenised to."""
    made = folder / "results/samples/cpt/m1"
    writer = SampleWriter(made)
    writer.add(Sample(np.arange(300, dtype=np.int32), np.ones(300, bool)))
    writer.close()
    return made


def test_samples_to_train_on_are_read_too(folder, samples, capsys):
    verify_files({}, {"hub": folder / "hub"}, {})
    assert (
        ": 5 files of the hub, of checkpoints and of samples, 2 records" in capsys.readouterr().out
    )
    flip(samples / "tokens.bin")
    with pytest.raises(UserError) as error:
        verify_files({}, {"hub": folder / "hub"}, {})
    assert "tokens.bin was altered" in error.value.problems[0]
    assert not (samples / "samples.json").exists(), "so that they are made again"


def test_snakemakes_notes_are_read_and_a_damaged_one_is_named_and_removed(folder):
    notes = [folder / f".snakemake/metadata/{name}" for name in ("cmVzdWx0cw==", "@long/b25l")]
    for note in notes:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps({"rule": "evaluate_direct"}))
    verify_files({}, {"hub": folder / "hub"}, {})
    content = bytearray(notes[1].read_bytes())
    content[5] ^= 0x80
    notes[1].write_bytes(content)
    with pytest.raises(UserError) as error:
        verify_files({}, {"hub": folder / "hub"}, {})
    (said,) = error.value.problems
    assert "@long/b25l" in said and "is removed" in said
    assert [note.exists() for note in notes] == [True, False]
    verify_files({}, {"hub": folder / "hub"}, {})


@pytest.mark.parametrize("imported", [False, True])
def test_what_models_wrote_and_imported_items_are_read_too(folder, imported):
    """Of an import the folder is set aside, which Snakemake makes as one."""
    place = folder / ("results/imports/theirs" if imported else "results/outputs/prompts/m1")
    place.mkdir(parents=True)
    items = place / ("00000.parquet" if imported else "run8.parquet")
    items.write_bytes(bytes(range(200)))
    part = {"file": items.name, "sha256": sha256_file(items)}
    facts = place / ("records.json" if imported else "run8.json")
    facts.write_text(json.dumps([{"items": part}] if imported else {"outputs": part}))
    verify_files({}, {"hub": folder / "hub"}, {})
    flip(items)
    with pytest.raises(UserError, match=f"{items.name} was altered"):
        verify_files({}, {"hub": folder / "hub"}, {})
    assert not facts.exists() and not items.exists()
    assert place.exists() is not imported
    verify_files({}, {"hub": folder / "hub"}, {})


def test_a_flipped_bit_in_what_says_what_models_wrote_is_found(folder):
    facts = folder / "results/outputs/prompts/m1/run8.json"
    facts.parent.mkdir(parents=True)
    facts.write_text(json.dumps({"outputs": {"file": "run8.parquet", "sha256": "0" * 64}}))
    flip(facts, at=2)  # in the name of the key: it is JSON still
    with pytest.raises(UserError, match=r"run8\.json does not say what files"):
        verify_files({}, {"hub": folder / "hub"}, {})
