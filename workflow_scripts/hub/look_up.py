"""What is found out about a model or a task that no table has: from the hub, and from lm-eval's definition.

The Snakefile imports this each time it is parsed; what is heavy is imported where something is looked up.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workflow_scripts.core.clean_text import plain
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.model_files import json_object
from workflow_scripts.settings.model_facts import ModelFiles, has_chat_template, model_cells

_SMALL = {"config.json", "tokenizer_config.json"}
_BY_HAND = "; add a row of the table of tasks by hand, or name its members as tasks"
# Of several metrics the one that the published rankings take, or else lm-eval's first.
_PREFERRED = ("acc_norm", "acc", "bits_per_byte")


def look_up_model(name: str, families: list[str]) -> dict[str, str]:
    """Look up the cells of a model's row: in its card, file list, configuration and headers of weights."""
    from huggingface_hub import HfApi, constants

    from workflow_scripts.hub.remote import (
        download,
        read_listing,
        require_complete,
        translate_errors,
    )

    print(
        plain(f"Looking up the model {name} on {constants.ENDPOINT}."), file=sys.stderr, flush=True
    )
    with (
        tempfile.TemporaryDirectory(prefix="chorus-look-up-") as temporary,
        translate_errors("model", name),
    ):
        folder = Path(temporary)
        listing = read_listing("model", name, None)
        require_complete("model", name, listing)
        download("model", name, listing, _SMALL & listing.files.keys(), folder)
        weights = HfApi(endpoint=constants.ENDPOINT).get_safetensors_metadata(
            name, revision=listing.commit
        )
        tokenizer = json_object(folder / "tokenizer_config.json")
        files = ModelFiles(
            config=json_object(folder / "config.json"),
            has_chat_template=has_chat_template(listing.files, tokenizer),
            parameters=sum(weights.parameter_count.values()),
            licence=listing.licence,
            is_gated=listing.is_gated,
            made_from=listing.has_base_model,
        )
    return model_cells(name, "huggingface", files, families)


def look_up_task(name: str) -> dict[str, str]:
    """The cells of its row, from lm-eval's definition; of a group, what its members have in common."""
    from workflow_scripts.hub.tasks import definitions_of

    if not (name.isascii() and name.islower() and name.replace("_", "").isalnum()):
        raise UserError(
            f"a task is named in lower-case letters, digits and '_' here, and {name!r} is not; add a row of"
            " the table of tasks with a name of your own, and this one as its harness_task."
        )
    members, group = definitions_of(name)
    datasets = {str(one.get("dataset_path")) for one in members}
    subsets = {one.get("dataset_name") for one in members}
    if len(datasets) != 1:
        raise UserError(
            f"lm-eval's task {name} is of {len(datasets)} datasets, and a task here is of one{_BY_HAND}."
        )
    (dataset,) = datasets
    if dataset.count("/") != 1:
        raise UserError(
            f"lm-eval's task {name} reads {dataset!r}, which is no dataset of the hub; it cannot be fetched."
        )
    metric, filter_ = _metric(name, members[0], group)
    return {
        "task": name,
        "harness": "lm_eval",
        "harness_task": name,
        "dataset": dataset,
        "subset": (subsets.pop() or "") if len(subsets) == 1 else "",
        "metric": metric,
        "filter": filter_,
        "training": "yes" if all(one.get("training_split") for one in members) else "no",
        "category": "Other",
        "display_name": name,
    }


def runs_code(name: str) -> bool:
    """Whether lm-eval says of a task that it runs the code which a model writes."""
    from workflow_scripts.hub.tasks import runs_generated_code

    return runs_generated_code(name)


def _metric(name: str, task: dict[str, Any], group: dict[str, Any] | None) -> tuple[str, str]:
    """What tables report: of a group what it takes the mean of."""
    metrics = list(_names((group or task).get("aggregate_metric_list" if group else "metric_list")))
    if not metrics:
        raise UserError(f"lm-eval's definition of {name} names no metric{_BY_HAND}.")
    filters = [one["name"] for one in task.get("filter_list") or []]
    metric = next((one for one in _PREFERRED if one in metrics), metrics[0])
    _tell(name, "metrics", metrics, metric)
    _tell(name, "filters", filters, *filters[:1])
    return metric, (filters or ["none"])[0]


def _tell(name: str, what: str, there_are: list[str], chosen: str = "none") -> None:
    if len(there_are) > 1:
        print(
            f"{name} has the {what} {', '.join(there_are)} in lm-eval; its tables report {chosen}.",
            file=sys.stderr,
        )


def _names(metrics: Any) -> Iterator[str]:
    """A metric of a task's own is a function, written as file and name."""
    for one in [metrics] if isinstance(metrics, dict) else metrics or []:
        yield str(one["metric"]).rpartition(".")[2]
