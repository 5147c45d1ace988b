"""Build the demo's hub folder: generated datasets, and models that the repository ships."""

from workflow_scripts.core.files import hash_file
from workflow_scripts.miniature import catalogue


rule build_world:
    """Generate the datasets of the demo, and copy the models that the repository ships."""
    output:
        datasets=INPUTS.list_datasets(catalogue.DATASETS),
        models=[
            INPUTS.get_manifest("model", f"{catalogue.ORGANISATION}/{name}")
            for name in catalogue.MODELS
        ],
    log:
        "logs/build_world.log",
    conda:
        "../envs/miniature.yaml"
    resources:
        mem_mb=600,
        runtime="30m",
    params:
        version="build_world 4",  # raise when the generated datasets or models change
        arguments={"hub": Path(HUB), "items": SETTINGS.miniature.items},
        # These files have the digests of all shipped files. As rule inputs, they would be compared by modification
        # time and by the path of the repository.
        facts=[hash_file(catalogue.SHIPPED / name / catalogue.FACTS) for name in catalogue.MODELS],
    script:
        "../workflow_scripts/miniature/build_world.py"
