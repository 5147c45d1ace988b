"""Set each published number beside ours, with a verdict.

In: the published tables; of ours mmlu_by_subject, prompt_runs and harmony_leaderboard, where the config
has them made, as CSV. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    published: list[Path], ours: dict[str, Path], csv: Path, md: Path, tex: Path, *, settings: dict
) -> None:
    import pandas as pd

    from workflow_scripts.paper.reproduction import write_reproduction_table
    from workflow_scripts.paper.studies import read_tables
    from workflow_scripts.render.verdict import as_table
    from workflow_scripts.settings.chunked_tables import MmluComparison
    from workflow_scripts.studies.harmony.published import compare_harmony
    from workflow_scripts.studies.mmlu.published import compare_mmlu
    from workflow_scripts.studies.prompts.published import compare_prompts

    theirs = {path.stem: pd.read_csv(path) for path in published}
    mine = read_tables(ours)
    leaderboard, runs = theirs.pop("harmony_leaderboard"), theirs.pop("prompt_runs")
    rows = [
        *compare_mmlu(theirs, mine.get("mmlu_by_subject"), MmluComparison.of(settings["mmlu"])),
        *compare_prompts(runs, mine.get("prompt_runs"), settings["prompts"]),
        *compare_harmony(leaderboard, mine.get("harmony_leaderboard"), settings["harmony"]),
    ]
    write_reproduction_table(as_table(rows), csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            [Path(path) for path in snakemake.input.published],
            {name: Path(snakemake.input[name]) for name in snakemake.params.settings["tables"]},
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            settings=snakemake.params.settings,
        )
