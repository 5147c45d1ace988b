"""Hold everything that has a checksum against it, and set aside what is damaged.

In: the hub folder and the results, as they lie there. Out: nothing but words in its log, which the terminal
shows at the end; it fails where something was damaged.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(hub: Path) -> None:
    from workflow_scripts.bridge.metadata import remove_damaged_metadata
    from workflow_scripts.core.errors import UserError
    from workflow_scripts.hub.damage import counted, find_damage, set_aside

    notes = list(remove_damaged_metadata(Path(".snakemake")))
    damaged = find_damage(hub, Path("results"))
    for path in damaged:
        set_aside(path)
    if damaged or notes:
        raise UserError(
            [problem for problems in damaged.values() for problem in problems]
            + notes
            + [
                f"{path} is set aside; the next run that needs it makes it again."
                for path in damaged
            ]
        )
    files, records = counted(hub, Path("results"))
    print(
        f"Every file that has a checksum is as it was written: {files:,} files of the hub, of"
        f" checkpoints and of samples, {records:,} records with their items."
    )


if "snakemake" in globals():
    with step(snakemake):
        main(Path(snakemake.params.settings["hub"]))
