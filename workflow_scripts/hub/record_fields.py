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


class Recording:
    """Start time and commit of a measurement, taken at its start: the checkout may change during a long job."""

    def __init__(self):
        self._started, self._clock, self._commit = (
            format_current_time(),
            time.monotonic(),
            read_code_commit(),
        )

    def parts(
        self, request: JobParams, loaded: LoadedModel, tokens: int, devices: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Build the shared fields of a record at the end of a measurement."""
        return {
            "request": request.to_params(),
            "model": model_facts(loaded.manifest),
            "cost": Cost(tokens=tokens, device=loaded.device),
            "provenance": self.provenance(request),
            "volatile": self.volatile(loaded.device, devices),
        }

    def provenance(self, request: JobParams) -> Provenance:
        return Provenance(
            code_commit=self._commit,
            settings_sha256=request.sha256,
            packages=list_package_versions(),
        )

    def volatile(self, device: str, devices: Sequence[str] = ()) -> RunMetadata:
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


def model_facts(manifest: Manifest) -> ModelFacts:
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
