"""Build the parameters of the chunking study's rules: checkpoints, measurements and chunk plans."""

from workflow_scripts.evaluation.requests import (
    build_latency_request,
    build_perplexity_request,
    build_verify_request,
    build_written_request,
)
from workflow_scripts.hub.requests import build_request


def build_params(wildcards):
    name = str(CheckpointId.parse(wildcards.checkpoint))
    return build_request(SETTINGS, name).to_params()


def make_measure_params(request):
    """Return a params function for measuring a model in its chunk plans."""
    return lambda wildcards: request(SETTINGS, get_model_row(wildcards).model).to_params()


def estimate_plans(estimate, request):
    """Return a function that estimates a measurement by its number of chunk plans."""
    params = make_measure_params(request)
    return lambda wildcards: estimate(wildcards.model, len(params(wildcards)["plans"]))
