"""Load folders trained with the published code, and refuse weights that do not match a folder's config.json.

Published adapters are named by chunk and depth in the chunk, `chunk_layers_1.adapter_0`; here they have the number of
the layer after them. In its sequential modes the published code registers the layers of the chunks a second time, as
`chunk_layers_1.layers.0`.
"""

import re

from torch import nn
from transformers.core_model_loading import WeightRenaming
from transformers.utils.loading_report import LoadStateDictInfo

from workflow_scripts.core.chunk_plan import ChunkPlan
from workflow_scripts.core.errors import UserError

_WRAPPER = "wrapped_chunk_layers"
# Matches the names of weights added by chunking, also in older versions of the published code.
_ADDED = re.compile("chunk|aggregation|adapter")


class _PublishedName(WeightRenaming):
    __slots__ = ()


def get_renamings(plan: ChunkPlan) -> list[WeightRenaming]:
    """Return transformers' renamings from published names of weights to the names of the model's modules."""
    names = {
        f"{_WRAPPER}.aggregation_head.linear": f"{_WRAPPER}.aggregation.proj",
        f"{_WRAPPER}.aggregation_head.mlp": f"{_WRAPPER}.aggregation",
    }
    for chunk, numbers in enumerate(plan.chunks):
        for depth, number in enumerate(numbers):
            published = f"{_WRAPPER}.chunk_layers_{chunk}"
            names[f"{published}.adapter_{depth}"] = f"{_WRAPPER}.adapters.{number}"
            names[f"{published}.layers.{depth}"] = f"layers.{number}"
    return [_PublishedName(re.escape(published), name) for published, name in names.items()]


def drop_renamings(model: nn.Module) -> None:
    """Drop the renamings, so that the model is saved under the names of its modules."""
    model._weight_conversions = [
        conversion
        for conversion in model._weight_conversions
        if not isinstance(conversion, _PublishedName)
    ]


def refuse_mismatched_weights(
    model: nn.Module, info: LoadStateDictInfo, folder: str | None
) -> None:
    """Refuse missing and unknown weights; a folder without any added weights is accepted (they are initialised)."""
    added = {name for name in model.state_dict() if _WRAPPER in name}
    lacks_added = added <= info.missing_keys
    missing = info.missing_keys - added if lacks_added else info.missing_keys
    unknown = filter(_ADDED.search, info.unexpected_keys)
    problems = [f"{folder} lacks {name}, which its config.json asks for." for name in missing]
    problems += [
        f"{folder} holds {name}, for which the model of its config.json has no place."
        for name in unknown
    ]
    if problems:
        raise UserError(sorted(problems))
