"""A longer recovery goes on from a shorter one: it is what it would have been by itself, and trains less."""

import shutil

import pytest

from tests.unit.training.stage import stage_inputs, stage_request
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.training_record import read_training_record
from workflow_scripts.hub.manifest import read_manifest
from workflow_scripts.training.checkpoint_stage import KEPT_STATE, train_stage

STEPS = {1: 3, 2: 14}  # by thousand tokens, as the id says; the longer one sees an epoch's end


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    found = stage_inputs(tmp_path_factory.mktemp("inputs"))
    return {"base_manifest": found["base"], "samples_summary": found["samples"]}


def recovered(inputs, folder, thousands: int, shorter=None, **changes):
    """The manifest that such a training writes, and its record."""
    keys = {"method": "lora", "lora_rank": 2, "lora_dropout": 0.3, "schedule": "constant"}
    keys |= {"warm_up": 0.0, "epochs": 2, "max_steps": STEPS[thousands], **changes}
    request = stage_request(**keys)
    request = request.model_copy(update={"id": f"org/base+recovery.{thousands}k"})
    out, record = folder / f"{thousands}", folder / f"{thousands}.json"
    paths = {name: type(out)(path) for name, path in inputs.items()}
    train_stage(**paths, folder=out, record_path=record, request=request, shorter=shorter)
    return out / "manifest.json", read_training_record(record)


def steps_of(record):
    """Without the evaluations: the shorter one has one at its end."""
    return [step for step in record.curve if step.loss is not None]


def test_it_ends_with_the_bytes_of_one_that_began_at_the_beginning(inputs, tmp_path):
    alone, whole = recovered(inputs, tmp_path / "alone", 2)
    shorter, short = recovered(inputs, tmp_path / "on", 1)
    longer, record = recovered(inputs, tmp_path / "on", 2, shorter)
    assert (short.speed.went_on_from_step, record.speed.went_on_from_step) == (0, STEPS[1])
    assert whole.speed.went_on_from_step == 0
    assert read_manifest(longer) == read_manifest(alone)
    assert steps_of(record) == steps_of(whole) and len(steps_of(record)) == STEPS[2]
    assert [step.step for step in record.curve if step.held_out] == [STEPS[1], 10, STEPS[2]]
    assert record.facts == whole.facts
    assert read_manifest(shorter).weights_sha256 != read_manifest(longer).weights_sha256


@pytest.mark.parametrize("damage", ["lost", "half"])
def test_without_what_the_shorter_one_ended_with_it_only_takes_longer(inputs, tmp_path, damage):
    alone, _ = recovered(inputs, tmp_path / "alone", 2)
    shorter, _ = recovered(inputs, tmp_path / "on", 1)
    state = shorter.parent / KEPT_STATE
    if damage == "lost":
        shutil.rmtree(state)
    else:
        next(state.glob("*/optimizer.pt")).write_bytes(b"half a file")
    longer, record = recovered(inputs, tmp_path / "on", 2, shorter)
    assert record.speed.went_on_from_step == 0
    assert read_manifest(longer) == read_manifest(alone)


def test_more_tokens_than_the_samples_have_are_refused(inputs, tmp_path):
    with pytest.raises(UserError, match=r"14 steps of 4 samples.* enough for 10 in 1 epoch;"):
        recovered(inputs, tmp_path, 2, epochs=1)
