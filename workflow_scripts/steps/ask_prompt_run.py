"""Ask a model the questions of one prompt run.

In: the manifests of the model and of the datasets, and how the run asks. Out: what the model said, and
a file about the run; nothing is scored yet.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(model: Path, data: list[Path], outputs: Path, version: str, request: dict) -> None:
    from datasets import disable_progress_bars

    from workflow_scripts.core.finished import finish_once
    from workflow_scripts.evaluation.prompts.outputs import read_outputs
    from workflow_scripts.evaluation.prompts.run import ask_prompt_run
    from workflow_scripts.evaluation.scored_items import scored_beside
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.settings.prompts.requests import PromptRequest

    disable_progress_bars()  # the log is a file
    finish_once(
        lambda: ask_prompt_run(model, hub_of(data[0]), outputs, PromptRequest.of(request)),
        inputs=[model, *data],
        outputs=[outputs.with_suffix(".parquet"), outputs],
        decides=[version, request],
        sound=lambda: read_outputs(outputs),
        way=scored_beside(outputs),
    )


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            [Path(path) for path in snakemake.input.data],
            Path(snakemake.output.run),
            snakemake.params.version,
            snakemake.params.request,
        )
