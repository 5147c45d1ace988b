"""Build the fields of a record that all measurements share."""

import time
from collections.abc import Sequence
from typing import Any

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.provenance import (
    describe_host,
    format_current_time,
    list_package_versions,
    measure_peak_memory_mb,
    read_code_commit,
)
from workflow_scripts.core.records import Cost, ModelFacts, Provenance, RunMetadata
from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.manifest import Manifest
from workflow_scripts.settings.job_params import JobParams


class RunTracker:
    """Build the fields that describe a run.

    Create it when the run starts, because the checkout may change during a long job.
    """

    def __init__(self):
        self._started = format_current_time()
        self._clock = time.monotonic()
        self._commit = read_code_commit()

    def build_fields(
        self, request: JobParams, loaded: LoadedModel, tokens: int, devices: Sequence[str]
    ) -> dict[str, Any]:
        """Build the fields that all records share, at the end of a run; `tokens` counts all forward passes."""
        return {
            "request": request.to_params(),
            "model": build_model_facts(loaded.manifest),
            "cost": Cost(tokens=tokens, device=loaded.device),
            "provenance": self.build_provenance(request),
            "volatile": self.build_run_metadata(loaded.device, devices),
        }

    def build_provenance(self, request: JobParams) -> Provenance:
        return Provenance(
            code_commit=self._commit,
            settings_sha256=request.sha256,
            packages=list_package_versions(),
        )

    def build_run_metadata(self, device: str, devices: Sequence[str] = ()) -> RunMetadata:
        """Build the fields that differ between runs; `devices` are those on which times were measured."""
        return RunMetadata(
            started=self._started,
            finished=format_current_time(),
            seconds=round(time.monotonic() - self._clock, 3),
            host=describe_host(),
            peak_memory_mb=measure_peak_memory_mb(),
            peak_gpu_memory_mb=measure_peak_gpu_memory_mb() if device == "cuda" else None,
            devices=tuple(devices),
        )


def build_model_facts(manifest: Manifest) -> ModelFacts:
    checkpoint = CheckpointId.parse(manifest.repository)
    return ModelFacts(
        id=manifest.repository,
        repository=checkpoint.model,
        commit=manifest.commit,
        weights_sha256=manifest.weights_sha256,
        parameters=manifest.parameters,
        plan=checkpoint.plan and checkpoint.layout.variant.removeprefix("@"),
        stages=checkpoint.stages,
    )


def measure_peak_gpu_memory_mb() -> int:
    import torch

    return max(map(torch.cuda.max_memory_allocated, range(torch.cuda.device_count()))) // 2**20
