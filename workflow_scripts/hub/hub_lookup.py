"""Look up models and tasks that have no row in the tables: models on the hub, tasks in lm-eval.

The Snakefile imports this each time it is parsed, so slow imports are inside the functions.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from workflow_scripts.core.clean_text import plain
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.model_files import read_json_object
from workflow_scripts.hub.tasks import read_task_definitions
from workflow_scripts.settings.model_facts import ModelFiles, has_chat_template, make_model_cells

_SMALL = {"config.json", "tokenizer_config.json"}
_BY_HAND = "; add its row of the table by hand"
# The metrics of the published rankings, by preference; a task without them gets lm-eval's first.
_PREFERRED = ("acc_norm", "acc", "bits_per_byte")


def look_up_model(name: str, families: list[str]) -> dict[str, str]:
    """Look up the cells of a model's row in its card, file list and configuration."""
    from huggingface_hub import constants

    from workflow_scripts.hub.hub_api import (
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
        if listing.parameters is None:
            raise UserError(f"The hub does not say how many parameters {name} has{_BY_HAND}.")
        download("model", name, listing, _SMALL & listing.files.keys(), folder)
        tokenizer = read_json_object(folder / "tokenizer_config.json")
        files = ModelFiles(
            config=read_json_object(folder / "config.json"),
            has_chat_template=has_chat_template(listing.files, tokenizer),
            parameters=listing.parameters,
            licence=listing.licence,
            is_gated=listing.is_gated,
            made_from=listing.has_base_model,
        )
    return make_model_cells(name, "huggingface", files, families)


def look_up_task(name: str) -> dict[str, str]:
    """Look up the cells of a task's row in lm-eval's definition; for a group, values that its members share."""
    members, group = read_task_definitions(name)
    datasets = {str(member.get("dataset_path")) for member in members}
    dataset = datasets.pop()
    if datasets or dataset.count("/") != 1:
        raise UserError(
            f"lm-eval's task {name} is of {len(datasets) + 1} datasets ({dataset}); name its members as tasks."
        )
    metric, filter_ = _choose_metric(name, members[0], group)
    return {
        "task": name,
        "harness": "lm_eval",
        "harness_task": name,
        "dataset": dataset,
        "metric": metric,
        "filter": filter_,
        "training": "yes" if all(member.get("training_split") for member in members) else "no",
        "category": "Other",
        "display_name": name,
    }


def _choose_metric(
    name: str, task: dict[str, Any], group: dict[str, Any] | None
) -> tuple[str, str]:
    """Choose the metric and filter that tables report; for a group, those that it averages."""
    metrics = group.get("aggregate_metric_list") if group else task.get("metric_list")
    if not metrics:
        raise UserError(f"lm-eval's definition of {name} names no metric{_BY_HAND}.")
    metrics = [metrics] if isinstance(metrics, dict) else metrics
    # A custom metric is a function, written as file and name.
    names = [str(metric["metric"]).rpartition(".")[2] for metric in metrics]
    filters = [entry["name"] for entry in task.get("filter_list") or [{"name": "none"}]]
    metric = next((metric for metric in _PREFERRED if metric in names), names[0])
    return metric, filters[0]
