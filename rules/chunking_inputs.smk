"""What the rules of the chunking study are asked: to build, to measure, and in which plans."""

from workflow_scripts.evaluation.requests import (
    latency_request,
    perplexity_request,
    verify_request,
    written_request,
)
from workflow_scripts.hub.requests import build_request


def build_request_of(wildcards):
    name = str(CheckpointId.parse(wildcards.checkpoint))
    return build_request(SETTINGS, name).as_params()


def asked_of_perplexity(wildcards):
    return perplexity_request(SETTINGS, model_row(wildcards).model).as_params()


def asked_of_written(wildcards):
    return written_request(SETTINGS, model_row(wildcards).model).as_params()


def asked_of_latency(wildcards):
    return latency_request(SETTINGS, model_row(wildcards).model).as_params()


def written_need(wildcards):
    return PLANNER.written(wildcards.model, len(asked_of_written(wildcards)["plans"]))


def perplexity_need(wildcards):
    return PLANNER.perplexity(wildcards.model, len(asked_of_perplexity(wildcards)["plans"]))
