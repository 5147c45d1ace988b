"""Hold the parameters of a job in one frozen model, from the settings to the record.

A request is defined once, beside the settings it comes from. The rule puts it into its `params` as plain
values, the step rebuilds it, its digest is part of the provenance, and a record holds it whole.
"""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from workflow_scripts.core.files import hash_json


class JobParams(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def to_params(self) -> dict[str, Any]:
        """Return plain values, which Snakemake can compare and hand on.

        They stand under one name, since it compares parameters as a set of bare values.
        """
        return self.model_dump(mode="json")

    @classmethod
    def of(cls, params: dict[str, Any]) -> Self:
        """Read what the rule put into its params."""
        return cls.model_validate(params)

    @property
    def sha256(self) -> str:
        return hash_json(self.to_params())
