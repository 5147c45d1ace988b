"""Models that a server answers for, which somebody has started: where it is, and what it cannot give."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from workflow_scripts.core.ids import name_of_folder, names_a_folder
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.section import Section
from workflow_scripts.settings.sentences import hint, shown
from workflow_scripts.settings.tables import Endpoint, ModelRow


class Served(Section):
    endpoint: Endpoint
    """Where its completions API is, such as http://node7:8000/v1."""
    name: str | None = Field(None, min_length=1)
    """What the server calls the model; null is the only one that it has."""
    key_variable: str | None = Field(
        None,
        pattern=r"^([A-Z0-9]+_)+(KEY|TOKEN)$",
        title="the name of an environment variable that ends in _KEY or _TOKEN, or null",
    )
    """The environment variable that holds the key which it asks for."""
    at_once: int = Field(8, ge=1)
    """Requests that it is sent at once."""
    check: bool = True
    """Before anything else, hold 200 of its log-likelihoods against the same weights, run here;
    false where they cannot be had or run, or differ from the server's on purpose."""


class ServedRequest(StepRequest):
    """What is taken of a server."""

    model: str
    served: Served


class TakenRequest(ServedRequest):
    """And how its weights are loaded, which its numbers are held against."""

    compute: Loading


def served_models(config: Any, models: Mapping[str, ModelRow]) -> dict[str, Served]:
    """By the models' own names; those of the table's column `endpoint` too, but where the config says another."""
    found = {name: Served(endpoint=row.endpoint) for name, row in models.items() if row.endpoint}
    named = {
        name_of_folder(name) if names_a_folder(name) else name: one
        for name, one in config.served.items()
    }
    return found | named


def served_problems(config: Any, models: Mapping[str, ModelRow]) -> list[str]:
    """Of a config that is right in itself: a sentence for each thing that a server cannot give."""
    served = served_models(config, models)
    return [*_names(served, models), *_keys(served), *_not_given(config, served)]


def _names(served: Mapping[str, Served], models: Mapping[str, ModelRow]) -> Iterator[str]:
    for name in served:
        if name not in models:
            yield (
                f"served has the key {shown(name)}; expected a model of the models table, or one that a"
                f" study names{hint(name, models)}."
            )


def _keys(served: Mapping[str, Served]) -> Iterator[str]:
    for name, one in served.items():
        if one.key_variable and not os.environ.get(one.key_variable):
            yield (
                f"served.{shown(name)}.key_variable is {shown(one.key_variable)}; expected a variable of"
                " the environment that holds the server's key, and there is none of this name."
            )


def _not_given(config: Any, served: Mapping[str, Served]) -> Iterator[str]:
    """Weights stay with the server: nothing can be trained, cut, timed or read by what loads them."""
    ranked, chunking = config.harmony, config.chunking
    for key, names, what, expected in (
        (
            "harmony.models",
            ranked.models if "train_before_test" in ranked.protocols else (),
            "it trains nothing",
            "harmony.protocols without train_before_test",
        ),
        (
            "harmony.models",
            ranked.models if ranked.corpora else (),
            "it does not train on texts",
            "no harmony.corpora",
        ),
        ("chunking.checkpoints", chunking.models, "its layers cannot be cut", "another model"),
        (
            "chunking.measures.latency_models",
            chunking.measures.latency_models or (),
            "only what runs here is timed in other plans",
            "another model",
        ),
        (
            "mmlu.models",
            config.mmlu.models,
            "lighteval asks models that are loaded",
            "the task mmlu in harmony.tasks",
        ),
    ):
        for name in dict.fromkeys(names):
            if name in served:
                yield (
                    f"{key} names {shown(name)}, which the server at {served[name].endpoint} answers"
                    f" for, and {what}; expected {expected}, or this model without an endpoint."
                )
