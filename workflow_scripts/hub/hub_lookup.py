"""Look up models and tasks that have no row in the tables: models on the hub, tasks in lm-eval.

The Snakefile imports this each time it is parsed, so slow imports are inside the functions.
"""

import sys
import tempfile
from pathlib import Path

from workflow_scripts.core.clean_text import clean_line
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.tasks import read_task_definition
from workflow_scripts.settings.model_folders import read_model_cells

_SMALL_FILES = {"config.json", "tokenizer_config.json", "chat_template.jinja"}
_BY_HAND = "; add its row of the table by hand"
# The metrics of the published rankings, by preference; a task without them gets lm-eval's first.
_PREFERRED_METRICS = ("acc_norm", "acc", "bits_per_byte")


def look_up_row(table: str, name: str, families: set[str]) -> dict[str, str]:
    """Look up the cells of a row of the table of models or tasks."""
    return look_up_model(name, families) if table == "models" else look_up_task(name)


def look_up_model(name: str, families: set[str]) -> dict[str, str]:
    """Look up the cells of a model's row in its card, file list and configuration."""
    from huggingface_hub import constants

    from workflow_scripts.hub.hub_api import download, open_listing, require_complete

    print(
        clean_line(f"Looking up the model {name} on {constants.ENDPOINT}."),
        file=sys.stderr,
        flush=True,
    )
    with (
        tempfile.TemporaryDirectory(prefix="chorus-look-up-") as temporary,
        open_listing("model", name, None) as listing,
    ):
        folder = Path(temporary)
        require_complete(listing)
        info = listing.info
        if info.safetensors is None:
            raise UserError(f"The hub does not list the number of parameters of {name}{_BY_HAND}.")
        download(listing, _SMALL_FILES & listing.files.keys(), folder)
        is_derived = bool((info.card_data or {}).get("base_model"))
        cells = read_model_cells(folder, name, families, is_derived)
    licence = (listing.licence or "").replace('"', "").strip() or "not stated"
    return cells | {
        "source": "huggingface",
        "parameters": str(info.safetensors.total),
        "licence": licence,
        "gated": "yes" if info.gated else "no",
    }


def look_up_task(name: str) -> dict[str, str]:
    """Look up the cells of a task's row in lm-eval's definition."""
    task = read_task_definition(name)
    # A custom metric is a function, written as file and name.
    metrics = [str(entry["metric"]).rpartition(".")[2] for entry in task.get("metric_list", ())]
    dataset = str(task.get("dataset_path"))
    if not metrics or dataset.count("/") != 1:
        raise UserError(f"lm-eval's {name} names no metric or no dataset of the hub{_BY_HAND}.")
    filters = [entry["name"] for entry in task.get("filter_list", ())]
    return {
        "task": name,
        "harness": "lm_eval",
        "harness_task": name,
        "dataset": dataset,
        "metric": next((metric for metric in _PREFERRED_METRICS if metric in metrics), metrics[0]),
        "filter": next(iter(filters), "none"),
        "training": "yes" if task.get("training_split") else "no",
        "category": "Other",
        "display_name": name,
    }
