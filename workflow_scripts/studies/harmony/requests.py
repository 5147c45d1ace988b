"""By what the grid is compared with the published leaderboard."""

from workflow_scripts.settings.request import StepRequest


class HarmonyComparison(StepRequest):
    """What decides whether the published leaderboard can be compared with ours."""

    source: str
