"""Ask a server what it serves, and hold its log-likelihoods against the model's own weights where that is wanted.

In: the model's manifest, or what was fetched of it but its weights. Out: the manifest, written last, beside the
tokenizer and the configuration.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.step import step


def main(source: Path, manifest: Path, compute: dict[str, Any], request: dict[str, Any]) -> None:
    from workflow_scripts.hub.load import load_model
    from workflow_scripts.hub.manifest import hub_of, write_manifest
    from workflow_scripts.hub.served import load_served, take_files, take_served
    from workflow_scripts.settings.compute import Loading
    from workflow_scripts.settings.served import ServedRequest

    asked = ServedRequest.of(request)
    taken = take_served(source, asked)
    files = take_files(source, manifest.parent)
    if asked.served.check:
        from workflow_scripts.evaluation.served_check import check_served

        served, _ = load_served(manifest, taken)
        weights = load_model(source, **Loading(**compute).loading)
        checked = check_served(served, weights, hub_of(source), seed=0)
        print(f"Checked: {checked}.")
        facts = served.facts.model_copy(update={"checked": checked})
        taken = taken.model_copy(update={"served": facts})
    write_manifest(manifest.parent, taken.model_copy(update={"files": files}))


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.source),
            Path(snakemake.output.manifest),
            snakemake.params.compute,
            snakemake.params.request,
        )
