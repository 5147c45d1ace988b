"""Which plans of a model are worth training: how they are searched for."""

from typing import Annotated, Literal

from pydantic import Field

from workflow_scripts.settings.names import ModelName
from workflow_scripts.settings.section import Listed, Section


class PlanSearch(Section):
    """Nothing of it runs unless it is asked for: `snakemake chunk_search`."""

    models: Listed[ModelName] | None = None
    """Models to search plans for, by name, or by folder (./my-checkpoint); null takes those that
    the checkpoints are cut from."""
    text: Literal["magpie", "wikitext"] = "magpie"
    """What plans are compared on: responses of Magpie, all difficulties, or wikitext's validation
    split. Take what the model reads well; a text that it does not know shows nothing."""
    tokens: int = Field(500, ge=2)
    """Tokens of it that the search scores, in each of some layers² / 2 plans; the plans it proposes
    are then measured on as many others."""
    speed_ups: Listed[Annotated[float, Field(gt=1, strict=False)]] = Field(
        (1.25, 1.5, 2.0), min_length=1
    )
    """Wanted speed-ups: the model's layers over those that run one after the other. The plans have
    the greatest depth that reaches it."""
    proposals: int = Field(2, ge=1)
    """Plans with chunks, and as many with layers left out, that are proposed and measured for each
    speed-up, beside evenly spaced ones of the same depth."""
    random_plans: int = Field(10, ge=0)
    """Random plans of each kind that are measured too, which shows how well the prediction ranks
    plans that it did not choose."""

    def depths(self, layers: int) -> tuple[int, ...]:
        """The depth of the plans for each wanted speed-up, each once."""
        # A hair more: 30 layers over 1.2 are 25, whatever the binary fractions say.
        depths = (max(1, int(layers / wanted + 1e-9)) for wanted in self.speed_ups)
        return tuple(dict.fromkeys(depth for depth in depths if depth < layers))
