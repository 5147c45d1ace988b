"""Define the base class of job parameters: one frozen model from the settings to the record.

Each subclass is defined next to its settings. The rule puts its plain values into `params`, the step rebuilds the
model from them, the provenance has their checksum, and the record has them all.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict

from workflow_scripts.core.files import hash_json


class JobParams(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def to_params(self) -> dict[str, Any]:
        """Return plain values, which Snakemake can compare and serialize.

        A rule passes them as one parameter, because Snakemake compares parameters as a set of values without names, and
        would miss that shots changed from 0 to 1 if another parameter is 0 and another is 1.
        """
        return self.model_dump(mode="json")

    @property
    def sha256(self) -> str:
        return hash_json(self.to_params())
