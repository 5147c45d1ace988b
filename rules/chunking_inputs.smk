"""What the rules of the chunking study are asked: to build, to measure, and in which plans."""

from workflow_scripts.settings.measures import (
    build_request,
    latency_request,
    perplexity_request,
    verify_request,
)

# The dataset that plans are compared on by `snakemake chunk_search`.
SEARCHED_TEXT = manifest_of("dataset", MEASURED_TEXTS[SETTINGS.chunking.search.text])


# The chunked checkpoints of the config before any training.
BUILT = [CheckpointId.parse(name) for name in SETTINGS.checkpoints()]


def bases(built):
    """The manifests of the models that are cut; of one that is cut in several ways there is one."""
    return list(dict.fromkeys(manifest_of("model", one.model) for one in built))


def manifests_of_built(built):
    """Where each is built, also the unchanged model, which whoever measures takes from the hub."""
    return [f"results/checkpoints/{one.in_path}/manifest.json" for one in built]


def asked_of_building(built):
    return [
        {
            "model": manifest_of("model", one.model),
            "request": build_request(SETTINGS, str(one)).as_params(),
        }
        for one in built
    ]


def models_of(built):
    return [manifest_of("model", one.model) for one in built]


building_need = checkpoints_in_a_job(
    BUILT, lambda built: PLANNER.building(*(one.in_path for one in built))
)
verification_need = checkpoints_in_a_job(
    BUILT, lambda built: PLANNER.verification(*(one.in_path for one in built))
)


def asked_of_perplexity(wildcards):
    return perplexity_request(SETTINGS, model_row(wildcards).model).as_params()


def asked_of_latency(wildcards):
    return latency_request(SETTINGS, model_row(wildcards).model).as_params()


def perplexity_need(wildcards):
    return PLANNER.perplexity(wildcards.model, len(asked_of_perplexity(wildcards)["plans"]))
