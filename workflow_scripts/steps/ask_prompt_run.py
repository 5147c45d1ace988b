"""Ask a model the questions of one prompt run.

In: the manifests of the model and of the datasets, and how the run asks. Out: what the model said, and
a file about the run; nothing is scored yet.
"""

from pathlib import Path

from workflow_scripts.core.step import step


def main(model: Path, data: list[Path], outputs: Path, settings: dict) -> None:
    from datasets import disable_progress_bars

    from workflow_scripts.evaluation.prompts.run import ask_prompt_run
    from workflow_scripts.hub.manifest import hub_of

    disable_progress_bars()  # the log is a file
    ask_prompt_run(model, hub_of(data[0]), outputs, **settings)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            [Path(path) for path in snakemake.input.data],
            Path(snakemake.output.run),
            snakemake.params.settings,
        )
