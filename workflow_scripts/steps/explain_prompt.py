"""Show the exact text and tokens that a prompt run sends for one question.

In: the manifests of a model, whose tokenizer is used, and of the datasets. Out: a text file.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(model: Path, data: list[Path], text: Path, request: dict) -> None:
    from datasets import disable_progress_bars

    from workflow_scripts.evaluation.prompts.explain import explain_prompt
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.settings.prompts.requests import ExplainRequest

    disable_progress_bars()  # the log is a file
    explain_prompt(model, hub_of(data[0]), text, ExplainRequest.of(request))


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            [Path(path) for path in snakemake.input.data],
            Path(snakemake.output.text),
            snakemake.params.request,
        )
