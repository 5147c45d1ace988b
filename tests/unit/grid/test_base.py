"""One model for all cells of a job: its weights stay as they were loaded, and nothing of a cell stays."""

import gc
from dataclasses import replace

import pytest
import torch

from tests.cells import cell
from tests.unit.grid.test_train_before_test import RECIPE
from workflow_scripts.core.broken import note_of
from workflow_scripts.core.records import whole_record
from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.grid import base as module
from workflow_scripts.grid import train_before_test as cells_module
from workflow_scripts.grid.base import Base, around_the_same_weights
from workflow_scripts.grid.job import run_job
from workflow_scripts.grid.train_before_test import train_before_test
from workflow_scripts.hub.load import load_model
from workflow_scripts.settings.compute import Compute
from workflow_scripts.training.trained_parameters import choose_parts

SMALL = RECIPE.model_copy(update={"epochs": 1, "max_training_items": 8})
TASKS = {"sst2": "acc", "openbookqa": "acc_norm"}
DATASETS = {"sst2": "nyu-mll/glue", "openbookqa": "allenai/openbookqa"}


@pytest.fixture
def loads(monkeypatch):
    """Of each load, the number format it was asked in."""
    seen = []

    def spy(manifest_path, *, dtype, **options):
        seen.append(dtype)
        return load_model(manifest_path, dtype=dtype, **options)

    monkeypatch.setattr(module, "load_model", spy)
    return seen


def asked_of(*tasks: str, recipe=SMALL) -> CellsRequest:
    one = [cell(task, TASKS[task], protocol="train_before_test", recipe=recipe) for task in tasks]
    together = {
        name: asked.model_copy(update={"dataset": DATASETS[name]})
        for request in one
        for name, asked in request.tasks.items()
    }
    return one[0].model_copy(update={"tasks": together})


def state_of(model) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def live_bytes() -> int:
    gc.collect()
    kept = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
        for tensor in gc.get_objects()
        if type(tensor) in (torch.Tensor, torch.nn.Parameter)
    }
    return sum(kept.values())


def test_a_training_is_given_other_modules_around_the_same_weights(model_manifest):
    base = Base.of(model_manifest, Compute(device="cpu"))
    keys = SMALL.training_keys(1e-3)
    loaded, before = base.loaded("float32").model, state_of(base.loaded("float32").model)
    given = base.to_train("float32", keys)
    mine, theirs = dict(loaded.named_parameters()), dict(given.named_parameters())
    assert all(theirs[name] is parameter for name, parameter in mine.items())
    names = [name for name, _ in loaded.named_modules()]
    assert not {id(m) for m in loaded.modules()} & {id(m) for m in given.modules()}
    trained = choose_parts(given, keys)
    trained.set_attn_implementation("eager")
    trained.train()
    assert [name for name, _ in loaded.named_modules()] == names
    assert loaded.config._attn_implementation == "sdpa" and not loaded.training
    assert all(torch.equal(before[n], tensor) for n, tensor in loaded.state_dict().items())


def test_cells_of_a_job_share_a_load_and_come_out_as_they_do_alone(
    world, model_manifest, tmp_path, loads
):
    """Through the job; each with fresh adapters, whatever was trained before it."""
    datasets = [world / f"datasets/{name}/manifest.json" for name in DATASETS.values()]
    asked = asked_of(*TASKS)
    records = [tmp_path / f"{name}.json" for name in asked.cells()]
    run_job(model_manifest, datasets, records, tmp_path / "log", asked, version="1")
    assert loads == ["float32"]
    for record in records:
        together = whole_record(record)
        (name,) = (task for task in TASKS if record.stem.startswith(task))
        alone = tmp_path / f"alone/{record.name}"
        train_before_test(model_manifest, world, alone, asked_of(name))
        assert whole_record(alone).training == together.training
        assert whole_record(alone).metrics == together.metrics
        assert alone.with_suffix(".parquet").read_bytes() == record.with_suffix(".parquet").read_bytes()  # fmt: skip


def test_nothing_of_a_cell_stays_in_memory(world, model_manifest, tmp_path):
    base = Base.of(model_manifest, Compute(device="cpu"))
    before = state_of(base.loaded("float32").model)
    weights = live_bytes()
    for at, task in enumerate(TASKS):
        train_before_test(model_manifest, world, tmp_path / f"{at}.json", asked_of(task), base=base)
        assert live_bytes() == weights, task
    after = base.loaded("float32").model.state_dict()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())


def test_nor_of_one_that_fails(world, model_manifest, tmp_path, monkeypatch):
    base = Base.of(model_manifest, Compute(device="cpu"))
    base.loaded("float32")
    weights = live_bytes()

    def failing(*arguments, **options):
        raise ValueError("in the test")

    with monkeypatch.context() as patch:
        patch.setattr(cells_module, "evaluate_loaded", failing)
        try:
            train_before_test(
                model_manifest, world, tmp_path / "a.json", asked_of("sst2"), base=base
            )
        except ValueError as error:
            assert str(error) == "in the test"
    assert live_bytes() == weights
    assert not note_of(tmp_path / "a.json").exists()


@pytest.mark.parametrize("changes", [{"method": "full"}, {"trains": ("*.final_layer_norm.*",)}])
def test_weights_that_are_trained_are_loaded_again(world, model_manifest, tmp_path, loads, changes):
    """Once for the training and once for the test, and the next cell finds nothing of it."""
    base = Base.of(model_manifest, Compute(device="cpu"))
    recipe = SMALL.model_copy(update=changes)
    for at in range(2):
        asked = asked_of("sst2", recipe=recipe)
        train_before_test(model_manifest, world, tmp_path / f"{at}.json", asked, base=base)
    assert len(loads) == 4
    one, other = ((tmp_path / f"{at}.parquet").read_bytes() for at in range(2))
    assert one == other


def test_adapters_of_a_training_are_its_own(model_manifest):
    loaded = load_model(model_manifest, device="cpu", dtype="float32", attention="auto")
    base = Base(lambda dtype: replace(loaded, dtype=dtype))
    keys = SMALL.training_keys(1e-3)
    torch.manual_seed(1)
    one = choose_parts(base.to_train("float32", keys), keys)
    torch.manual_seed(1)
    other = choose_parts(base.to_train("float32", keys), keys)
    ours, theirs = (
        {n: p for n, p in m.named_parameters() if p.requires_grad} for m in (one, other)
    )
    assert ours.keys() == theirs.keys() and ours
    assert all(torch.equal(ours[n], theirs[n]) and ours[n] is not theirs[n] for n in ours)
    with torch.no_grad():
        for parameter in ours.values():
            parameter.add_(1.0)
    tokens = torch.arange(3, 30)[None]
    assert torch.equal(other(tokens).logits, loaded.model(tokens).logits), "B is zero in the other"
    assert not torch.equal(one(tokens).logits, loaded.model(tokens).logits)


def test_tied_weights_stay_tied_in_a_copy():
    from tests.tiny_models import tiny_model

    copy = around_the_same_weights(tiny_model("tied"))
    assert copy.lm_head.weight is copy.model.embed_tokens.weight
