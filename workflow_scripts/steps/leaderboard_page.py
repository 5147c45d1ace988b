"""Join the tabs of the studies that the config has into the leaderboard, one page that needs no network.

In: tables, scores and records of those studies, each by its tab's name and its own. Out:
results/report/leaderboard.html.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(page: Path, inputs: dict, request: dict) -> None:
    from workflow_scripts.core.files import write_text
    from workflow_scripts.paper.leaderboard import leaderboard
    from workflow_scripts.render.web.page import leaderboard_page
    from workflow_scripts.settings.paper import LeaderboardPage

    write_text(page, leaderboard_page(leaderboard(inputs, LeaderboardPage.of(request))))


if "snakemake" in globals():
    with step(snakemake):
        inputs: dict[str, dict] = {}
        for name, files in snakemake.input.items():
            tab, _, what = name.partition("_")
            inputs.setdefault(tab, {})[what] = files
        main(Path(snakemake.output.page), inputs, snakemake.params.request)
