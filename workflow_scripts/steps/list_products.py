"""Name every product of the config, a line each, at the end of the command.

In: the lines. Out: results/products.txt, which the terminal shows.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(lines: list[str]) -> None:
    from workflow_scripts.core.files import write_text

    write_text(Path("results/products.txt"), "\n".join(lines) + "\n")


if "snakemake" in globals():
    with step(snakemake):
        main(list(snakemake.params.lines))
