"""Folders trained with the published code: what it calls the weights that chunking adds, and a
sentence where a folder's weights are not those that its config.json asks for.

Published adapters are counted by chunk and place, `chunk_layers_1.adapter_0`; here they bear the
number of the layer that they stand before. In its sequential modes the published code registers the
layers of the chunks a second time, as `chunk_layers_1.layers.0`.
"""

import re

from torch import nn
from transformers.core_model_loading import WeightRenaming
from transformers.utils.loading_report import LoadStateDictInfo

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.plan import ChunkPlan

_WRAPPER = "wrapped_chunk_layers"
# What the names have of a model that was saved inside of torch's modules for several GPUs, or compiled.
_PREFIXES = (r"^module\.", r"_orig_mod\.")
# What nothing but chunking adds, older forms of the published code too.
_ADDED = re.compile("chunk|aggregation|adapter")
_MAX_NAMES = 12  # in one sentence


class _PublishedName(WeightRenaming):
    __slots__ = ()


def get_renamings(plan: ChunkPlan) -> list[WeightRenaming]:
    """Return transformers' renamings from the names that a folder may have to the model's own."""
    names = {
        f"{_WRAPPER}.aggregation_head.linear": f"{_WRAPPER}.aggregation.proj",
        f"{_WRAPPER}.aggregation_head.mlp": f"{_WRAPPER}.aggregation",
    }
    for chunk, numbers in enumerate(plan.chunks):
        for place, number in enumerate(numbers):
            published = f"{_WRAPPER}.chunk_layers_{chunk}"
            names[f"{published}.adapter_{place}"] = f"{_WRAPPER}.adapters.{number}"
            names[f"{published}.layers.{place}"] = f"layers.{number}"
    pairs = [(prefix, "") for prefix in _PREFIXES]
    pairs += [(re.escape(published), own) for published, own in names.items()]
    return [_PublishedName(*pair) for pair in pairs]


def keep_own_names(model: nn.Module) -> None:
    """Have the model saved under its own names, whatever names were found."""
    conversions = model._weight_conversions
    model._weight_conversions = [
        conversion for conversion in conversions if not isinstance(conversion, _PublishedName)
    ]


def refuse_other_weights(model: nn.Module, info: LoadStateDictInfo, folder: str | None) -> None:
    """Refuse missing and unknown weights; where none that chunking adds is found, all of them start afresh."""
    added = {name for name in model.state_dict() if _WRAPPER in name}
    are_found = not added <= info.missing_keys
    missing = [name for name in info.missing_keys if are_found or name not in added]
    unknown = [name for name in info.unexpected_keys if _ADDED.search(name)]
    problems = []
    if missing:
        problems.append(f"{folder} lacks {_list_names(missing)}, which its config.json asks for.")
    if unknown:
        problems.append(
            f"{folder} holds {_list_names(unknown)}, for which the model of its config.json has no place."
        )
    if problems:
        raise UserError(problems)


def _list_names(names: list[str]) -> str:
    return ", ".join(sorted(names)[:_MAX_NAMES])
