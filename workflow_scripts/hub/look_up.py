"""What is found out about a model or a task that no table has: from the hub, and from lm-eval's definition.

The Snakefile imports this each time it is parsed; what is heavy is imported where something is looked up.
"""

import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from workflow_scripts.core.clean_text import plain
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.model_files import json_object
from workflow_scripts.settings.model_facts import ModelFiles, has_chat_template, model_cells

_SMALL = ("config.json", "tokenizer_config.json")
_BY_HAND = "; add a row of the table of tasks by hand, or name its members as tasks"
# Of several metrics the one that the published rankings take, or else lm-eval's first.
_PREFERRED = ("acc_norm", "acc", "bits_per_byte")


def look_up_model(name: str, families: list[str]) -> dict[str, str]:
    """The cells of its row: its card and file list, its configuration, the headers of its weights."""
    from huggingface_hub import constants

    from workflow_scripts.hub.network_errors import in_plain_words

    print(
        plain(f"Looking up the model {name} on {constants.ENDPOINT}."), file=sys.stderr, flush=True
    )
    with (
        tempfile.TemporaryDirectory(prefix="chorus-look-up-") as folder,
        in_plain_words("model", name, None, Path(folder), by="the look-up of a model's facts"),
    ):
        return model_cells(name, "huggingface", _files_on_the_hub(name, Path(folder)), families)


def _files_on_the_hub(name: str, folder: Path) -> ModelFiles:
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import SafetensorsParsingError

    from workflow_scripts.hub.download import download_small
    from workflow_scripts.hub.remote import read_listing, refuse_lacking

    listing = read_listing("model", name, None)
    refuse_lacking("model", name, listing)
    download_small(name, listing, folder, _SMALL)
    api = HfApi(endpoint=constants.ENDPOINT)
    header_of = partial(api.parse_safetensors_file_metadata, name, revision=listing.commit)
    paths = [file.path for file in listing.files]
    try:
        with ThreadPoolExecutor(8) as pool:  # a large model has dozens of files
            headers = list(
                pool.map(header_of, (path for path in paths if path.endswith(".safetensors")))
            )
    except SafetensorsParsingError as error:
        raise UserError(f"The headers of {name}'s weights cannot be read: {error}") from None
    return ModelFiles(
        config=json_object(folder / "config.json"),
        has_chat_template=has_chat_template(paths, json_object(folder / "tokenizer_config.json")),
        parameters=sum(sum(header.parameter_count.values()) for header in headers),
        licence=listing.licence,
        is_gated=listing.is_gated,
        made_from=listing.made_from,
    )


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
