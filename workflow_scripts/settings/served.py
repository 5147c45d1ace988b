"""Models that a server runs: its address, and the studies that need the weights here."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from workflow_scripts.core.ids import name_of_folder, names_a_folder
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.section import Section
from workflow_scripts.settings.sentences import hint, shown
from workflow_scripts.settings.tables import Endpoint, ModelRow


class Served(Section):
    endpoint: Endpoint
    """Address of a completions API, such as http://node7:8000/v1."""
    name: str | None = Field(None, min_length=1)
    """The server's name for the model; null is its name on the hub."""
    at_once: int = Field(8, ge=1)
    """Number of concurrent requests."""


class ServedRequest(StepRequest):
    """The parameters of rule describe_served_model."""

    model: str
    served: Served


def served_models(config: Any, models: Mapping[str, ModelRow]) -> dict[str, Served]:
    """List served models by hub name: those of the models table's column `endpoint`, then the config's."""
    served = {name: Served(endpoint=row.endpoint) for name, row in models.items() if row.endpoint}
    for name, section in config.served.items():
        served[name_of_folder(name) if names_a_folder(name) else name] = section
    return served


def served_problems(config: Any, models: Mapping[str, ModelRow]) -> Iterator[str]:
    """Say which keys ask for something of a served model that needs its weights."""
    served = served_models(config, models)
    for name in served:
        if name not in models:
            yield (
                f"served has the key {shown(name)}; expected a model of the models table, or one that a"
                f" study names{hint(name, models)}."
            )
    harmony, chunking = config.harmony, config.chunking
    trains = "train_before_test" in harmony.protocols or harmony.corpora
    for key, names in {
        "harmony.models with train_before_test or corpora": harmony.models if trains else (),
        "chunking.checkpoints": chunking.models,
        "chunking.measures.latency_models": chunking.measures.latency_models or (),
        "mmlu.models": config.mmlu.models,
    }.items():
        for name in dict.fromkeys(names):
            if name in served:
                yield (
                    f"{key} names {shown(name)}, whose weights stay with the server at"
                    f" {served[name].endpoint}; expected a model that runs here."
                )
