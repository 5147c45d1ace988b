"""What `make bench-gpu` measured of a GPU, read for planning from the file that cluster.measured names."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workflow_scripts.core.errors import UserError
from workflow_scripts.planning.arithmetic import Speed, row_of
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.tables import DeviceRow


class Rates(BaseModel):
    """In bfloat16."""

    model_config = ConfigDict(extra="forbid")

    reading_tflops: float = Field(gt=0, description="Reached when a model reads")
    training_tflops: float = Field(gt=0, description="Reached in a training step")
    weights_gb_s: float = Field(gt=0, description="Of weights read, token after token")
    layer_us: float = Field(gt=0, description="That a layer's kernels take to be launched, forward")


class GpuReport(BaseModel):
    """The part of the file that planning needs."""

    device: str = Field(description="As PyTorch names it")
    small: bool = Field(description="Tiny shapes, to see that the benchmark runs")
    measured: str = Field(description="When")
    rates: Rates

    def speed(self, row: DeviceRow, dtype: str) -> Speed:
        """float32 was not measured: it is slower by what the maker promises."""
        rates, tera = self.rates, 1e12 * row.peak(dtype) / row.peak("bfloat16")
        reading, training = rates.reading_tflops * tera, rates.training_tflops * tera
        return Speed(dtype, reading, training, rates.weights_gb_s * 1e9, rates.layer_us * 1e-6)


def gpu_report(cluster: Cluster, devices: Mapping[str, DeviceRow]) -> GpuReport | None:
    """None where the config names none; a UserError where the file is not of cluster.gpu."""
    if cluster.measured is None:
        return None
    report = read_report(cluster.measured)
    said = f"cluster.measured is {cluster.measured!r}"
    if report.small:
        raise UserError(
            f"{said}, the small form of the benchmark on {report.device}; expected the report of a GPU."
        )
    row = row_of(report.device, devices)
    if row is None or row.device != cluster.gpu:
        raise UserError(
            f"{said}, which was measured on {report.device}, and cluster.gpu is {cluster.gpu!r};"
            " expected a report of that GPU."
        )
    return report


def read_report(path: str) -> GpuReport:
    try:
        return GpuReport.model_validate_json(Path(path).read_bytes())
    except (OSError, ValidationError) as error:
        why = str(error)
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            why = ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
        raise UserError(
            f"cluster.measured is {path!r}, which is no report of `make bench-gpu`: {why}."
        ) from None
