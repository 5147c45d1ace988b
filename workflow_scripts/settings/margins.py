"""The section margins: what difference from a published number does not matter."""

from pydantic import Field

from workflow_scripts.settings.section import NonNegative, Section


class Margins(Section):
    """A number agrees where its difference surely lies within these, and is inconclusive where it may not."""

    scores: float = Field(0.02, gt=0, lt=1)
    """Of scores, in the units of the metric: 0.02 is two points."""
    ranks: NonNegative = 3
    """Of ranks on the leaderboard."""
