"""Trainings that share their steps on a GPU: as many, and as many tokens, as there is room for."""

import math
import os
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.tiny_models import VOCABULARY, tiny_model
from tests.unit.training.together.lessons import alone, lesson, lessons, together
from tests.unit.training.together.test_equality import assert_same
from workflow_scripts.core.errors import Interrupted
from workflow_scripts.training.samples import Sample, Samples
from workflow_scripts.training.together import group, run
from workflow_scripts.training.together.group import CannotShare
from workflow_scripts.training.together.rows import rows_of

OUT_OF_MEMORY = "CUDA out of memory. Tried to allocate 2.00 GiB."


class LittleRoom:
    """Raises in the last layer of a model, behind rows and layers that had room, what PyTorch raises there."""

    def __init__(self, model, most: int, times: float = math.inf):
        self.most, self.times, self.lengths = most, times, []
        model.model.layers[-1].register_forward_pre_hook(self)

    def __call__(self, layer, arguments) -> None:
        hidden = arguments[0]
        if hidden.requires_grad:  # of steps; evaluations have as much room as they want
            self.lengths.append(hidden.shape[1])
            if hidden.shape[1] > self.most and self.times > 0:
                self.times -= 1
                raise torch.OutOfMemoryError(OUT_OF_MEMORY)

    def __deepcopy__(self, memo):
        return self


def shared_model():
    return tiny_model("llama", layers=2).double()


def test_rows_are_halved_and_steps_and_what_was_learned_stay(tmp_path, monkeypatch, capsys):
    """It is remembered too: who goes on after a kill does not run out of memory once more."""
    model = shared_model()
    asked = lessons(save_every=20)
    expected = {one.name: alone(model, one, tmp_path / one.name) for one in asked}
    room = LittleRoom(model, most=150)
    monkeypatch.setattr(
        group.SharedTrainings, "_save", leaves_after_saving(group.SharedTrainings._save)
    )
    with pytest.raises(Interrupted):
        together(model, asked, tmp_path / "little")
    monkeypatch.undo()
    assert "Memory ran out: 128 tokens in a row now" in capsys.readouterr().out
    assert max(room.lengths) > 150, "the memory of this step did not run out"
    room.lengths.clear()
    found = together(model, asked, tmp_path / "little")
    assert "Memory ran out" not in capsys.readouterr().out and max(room.lengths) <= 128
    for one in asked:
        assert_same(found[one.name], expected[one.name], 1e-9)


def test_a_step_that_has_room_the_second_time_halves_nothing(tmp_path, capsys):
    asked = lessons()[:2]
    expected = together(shared_model(), asked, tmp_path / "roomy")
    model = shared_model()
    room = LittleRoom(model, most=10, times=1)
    found = together(model, asked, tmp_path / "tight")
    said = capsys.readouterr().out
    assert "the step is tried once more" in said and "tokens in a row now" not in said
    assert room.times == 0
    for name, one in expected.items():
        assert_same(found[name], one, 1e-12)


def leaves_after_saving(save):
    def asked_to_leave(self):
        os.kill(os.getpid(), signal.SIGTERM)
        save(self)

    return asked_to_leave


def test_with_no_room_for_one_sample_they_cannot_share(tmp_path):
    model = shared_model()
    LittleRoom(model, most=10)
    with pytest.raises(CannotShare, match="memory ran out with one sample in a row"):
        together(model, lessons(), tmp_path)


def test_a_step_that_fails_says_so(tmp_path):
    model = shared_model()
    beyond = Sample(np.array([1, VOCABULARY + 5, 2], np.int32), np.array([False, True, True]))
    asked = [*lessons()[:2], lesson("odd", Samples.of([beyond]))]
    with pytest.raises(CannotShare, match="their step failed"):
        together(model, asked, tmp_path)


def test_a_row_is_as_long_as_there_is_room(tmp_path, monkeypatch):
    model = tiny_model("llama", layers=2)
    asked = lessons()
    longest = []
    for room in (10**6, 10**8):
        monkeypatch.setattr(run, "room_on", lambda device, room=room: room)
        monkeypatch.setattr(
            group, "rows_of", lambda batches, most: longest.append(most) or rows_of(batches, most)
        )
        together(model, asked[:2], tmp_path / str(room))
    assert longest[-1] == pytest.approx(100 * longest[0], rel=0.1)


def test_what_is_measured_behind_it_says_how_it_ran_on_a_gpu(tmp_path):
    (found,) = together(shared_model(), lessons()[:1], tmp_path).values()
    on_gpu = replace(found, report=found.report | {"device": "cuda"})
    assert on_gpu.as_fact("validation", bad_samples={}).ran == {
        "packing": "stretches",
        "attention": "packed_sdpa",
        "precision": "float32",
        "gradient_checkpointing": False,
    }


def test_adapters_leave_half_of_the_room_to_the_rows(tmp_path, monkeypatch):
    model = tiny_model("llama", layers=2)
    asked = lessons()[:4]
    shared = together(model, asked, tmp_path / "all")
    assert {one.together for one in shared.values()} == {4}
    of_one = 16 * shared["0"].report["trained_parameters"]  # in float32, with gradient and moments
    monkeypatch.setattr(run, "room_on", lambda device: 2 * 3 * of_one + 1)
    monkeypatch.setattr(run, "_row_tokens", lambda adapted, precision: 1024)
    fewer = together(model, asked, tmp_path / "three")
    assert {one.together for one in fewer.values()} == {3}
    for name, one in fewer.items():
        assert_same(one, shared[name], 1e-4)
