"""Train one stage of a checkpoint from the previous stage, a recipe and its samples."""

from functools import partial
from pathlib import Path

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.core.training_record import (
    TrainingRecord,
    TrainingSpeed,
    build_curve,
    read_training_record,
)
from workflow_scripts.hub.load import choose_device, load_model
from workflow_scripts.hub.manifest import describe_damage, read_manifest
from workflow_scripts.hub.record_fields import RunTracker, build_model_facts
from workflow_scripts.training.output import save_checkpoint
from workflow_scripts.training.requests import StageRequest
from workflow_scripts.training.run import train
from workflow_scripts.training.samples import read_samples
from workflow_scripts.training.spec import TrainingSpec


def train_stage(
    base_manifest: Path,
    samples_summary: Path,
    folder: Path,
    record_path: Path,
    request: StageRequest,
) -> None:
    """Train, write the checkpoint, and then write its record."""
    tracker = RunTracker()
    provenance = tracker.build_provenance(request)
    base = read_manifest(base_manifest)
    all_samples, data = read_samples(samples_summary)
    rng = np.random.default_rng(derive_seed(request.seed, "held out", request.recipe))
    samples, held_out = all_samples.split(request.validation, rng)
    device = choose_device(request.device)
    resume_key = {
        "base": base.commit,
        "data": data["sha256"],
        "validation": request.validation,
        "threads": request.threads,
        "packages": provenance.packages,
        "device": device,
    }
    spec = TrainingSpec(samples, request.keys, request.seed, resume_key, device, held_out)
    check_sample_count(spec, request)
    load = partial(_load, base_manifest, device, request.attention)
    trained = train(load, spec, get_checkpoint_state(folder))
    manifest = save_checkpoint(
        partial(_load, base_manifest, "cpu", "auto"),  # a second model may not fit on the GPU
        trained.parameters,
        base_manifest,
        folder,
        id=request.id,
        keys=request.keys,
    )
    record = TrainingRecord(
        base=build_model_facts(base),
        trained=build_model_facts(manifest),
        request=request.to_params(),
        data=data,
        report=trained.report,
        facts=trained.facts,
        selected=trained.selected,
        curve=build_curve(trained.history),
        provenance=provenance,
        volatile=tracker.build_run_metadata(device),
        speed=TrainingSpeed(**trained.speed),
    )
    record.write(record_path)


def check_sample_count(spec: TrainingSpec, request: StageRequest) -> None:
    """Refuse a checkpoint if its name states more tokens than its recipe provides."""
    max_steps = request.keys.max_steps or 0
    has_token_count = "." in CheckpointId.parse(request.id).stages[-1]  # as in +cpt.300k
    if has_token_count and spec.steps < max_steps:
        raise UserError(
            f"{request.id} is to be trained in {max_steps} steps, but the samples of {request.recipe!r} are"
            f" enough for {spec.steps}; expected more epochs, or fewer tokens in training.cpt_tokens."
        )


def get_checkpoint_state(folder: Path) -> Path:
    """Return the folder of a checkpoint's training state; it is kept until the checkpoint is complete."""
    return folder.with_name(f".{folder.name}.training")


def check_stage(folder: Path, record_path: Path) -> None:
    """Verify the record and the checksums of all files of a stage."""
    read_training_record(record_path)
    if problems := describe_damage(folder, read_manifest(folder / "manifest.json")):
        raise UserError(problems)


def _load(manifest: Path, device: str, attention: str, dtype: str):
    return load_model(manifest, device=device, dtype=dtype, attention=attention).model
