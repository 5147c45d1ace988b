"""What the rules of the chunking study are asked: to build, to measure, and in which plans."""

from workflow_scripts.evaluation.requests import (
    latency_request,
    perplexity_request,
    verify_request,
    written_request,
)
from workflow_scripts.hub.requests import build_request


def build_params(wildcards):
    name = str(CheckpointId.parse(wildcards.checkpoint))
    return build_request(SETTINGS, name).to_params()


def perplexity_params(wildcards):
    return perplexity_request(SETTINGS, model_row(wildcards).model).to_params()


def written_params(wildcards):
    return written_request(SETTINGS, model_row(wildcards).model).to_params()


def latency_params(wildcards):
    return latency_request(SETTINGS, model_row(wildcards).model).to_params()


def estimate_written(wildcards):
    return PLANNER.written(wildcards.model, len(written_params(wildcards)["plans"]))


def estimate_perplexity(wildcards):
    return PLANNER.perplexity(wildcards.model, len(perplexity_params(wildcards)["plans"]))
