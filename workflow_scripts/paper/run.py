"""What the run itself was: how much was measured, by what, and what broke."""

from typing import Any

from workflow_scripts.render.numbers import Number, Numbers, count, fixed, number
from workflow_scripts.render.words import joined


def run_numbers(provenance: dict[str, Any]) -> list[Number]:
    studies, seen = provenance["studies"].values(), provenance["seen"]

    def total(key: str) -> float:
        return sum(study[key] for study in studies)

    return [
        *number("run.source", provenance["config"]["source"], str, "where the models come from"),
        *number("run.studies", len(studies), count, "studies with records"),
        *number("run.records", total("records"), count, "records: a model on a task"),
        *number("run.items", total("items"), count, "questions and texts behind them"),
        *number("run.tokens", total("tokens"), count, "tokens run through models to measure"),
        *number("run.hours", total("seconds") / 3600, fixed(2), "hours that measuring took"),
        *number("run.models", len(provenance["models"]), count, "models and checkpoints measured"),
        *number("run.commits", len(seen["commits"]), count, "commits of the code that measured"),
        *number("run.hosts", len(seen["hosts"]), count, "machines that measured"),
        *number("run.devices", joined(seen["devices"]) or "none", str, "what the models ran on"),
        *number("run.broken", len(provenance["broken"]), count, "cells that failed"),
    ]


def is_generated(numbers: Numbers, provenance: dict[str, Any]) -> bool:
    """Whether something was measured here, and of the miniature world."""
    return bool(numbers.value("run.records")) and provenance["config"]["source"] == "miniature"


def tell_run(numbers: Numbers) -> str:
    if not numbers.value("run.records"):
        return "This run measured nothing itself: it shows scores that others published."
    return (
        "{run.records} records of {run.models} models and checkpoints, with {run.items} items behind"
        " them, were measured in {run.hours} hours on {run.devices}."
    )


def what_is_missing(numbers: Numbers, provenance: dict[str, Any], absent: list[str]) -> list[str]:
    """Sentences on what a reader might look for and not find, with the reason of each.

    `absent` are the titles of chapters there is nothing for.
    """
    sentences = [f"“{title}”: the config asks for nothing of it." for title in absent]
    if numbers.value("run.broken"):
        sentences.append(
            "Cells that failed, whose records hold no score: {run.broken}; named below."
        )
    if "harmony.missing" in numbers and numbers.value("harmony.missing"):
        sentences.append("Cells of the Harmony grid without a score: {harmony.missing}.")
    if "published.refused" in numbers and numbers.value("published.refused"):
        sentences.append(
            "Published numbers that cannot be compared: {published.refused} of {published.numbers}; the"
            " chapter about them says why."
        )
    devices = provenance["seen"]["devices"]
    ran = numbers.value("run.records")
    if ran and not any(device.startswith("cuda") or "NVIDIA" in device for device in devices):
        sentences.append(
            "No model ran on a GPU: what bfloat16 and flash attention do there to scores and times, and"
            " what several GPUs do, is not measured here."
        )
    if is_generated(numbers, provenance):
        sentences.append(
            "Models and datasets measured here are generated. Nothing measured here says anything about the"
            " models of the same families."
        )
    if numbers.value("run.commits") > 1:
        sentences.append(
            "The records come from {run.commits} different commits of the code; provenance lists them."
        )
    return sentences
