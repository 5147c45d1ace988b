"""Join the tabs of the studies that the config has into the leaderboard, one page that needs no network.

In: tables, scores and records of those studies. Out: results/report/leaderboard.html.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(page: Path, inputs: dict, *, source: str, seed: int, tasks: list[dict]) -> None:
    from workflow_scripts.core.files import write_text
    from workflow_scripts.paper.leaderboard import leaderboard
    from workflow_scripts.render.web.page import leaderboard_page

    write_text(page, leaderboard_page(leaderboard(inputs, source=source, seed=seed, tasks=tasks)))


if "snakemake" in globals():
    with step(snakemake):
        settings = dict(snakemake.params.settings)
        inputs = {
            tab: {name: snakemake.input.get(f"{tab}_{name}") for name in names}
            for tab, names in settings.pop("tabs").items()
        }
        main(Path(snakemake.output.page), inputs, **settings)
