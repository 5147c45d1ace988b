"""Folders trained with the published code: what it calls the weights that chunking adds, and a
sentence where a folder's weights are not those that its config.json asks for.

Published adapters are counted by chunk and place, `chunk_layers_1.adapter_0`; here they bear the
number of the layer that they stand before. In its sequential modes the published code registers the
layers of the chunks a second time, as `chunk_layers_1.layers.0`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from torch import nn
from transformers.core_model_loading import WeightRenaming
from transformers.utils.loading_report import LoadStateDictInfo

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.plan import ChunkPlan

_WRAPPER = "wrapped_chunk_layers"
# What the names have of a model that was saved inside of torch's modules for several GPUs, or compiled.
_AROUND = (r"^module\.", r"_orig_mod\.")
# What nothing but chunking adds, older forms of the published code too.
_ADDED = re.compile("chunk|aggregation|adapter")
_NAMED = 12  # in one sentence


class _PublishedName(WeightRenaming):
    __slots__ = ()


def renamings(plan: ChunkPlan) -> list[WeightRenaming]:
    """From the names that a folder may have to the model's own, in transformers' words."""
    twice = {
        f"{_WRAPPER}.chunk_layers_{chunk}.layers.{place}": f"layers.{number}"
        for chunk, place, number in _places(plan)
    }
    names = {re.escape(theirs): ours for theirs, ours in (_published(plan) | twice).items()}
    return [_PublishedName(*pair) for pair in (dict.fromkeys(_AROUND, "") | names).items()]


def _published(plan: ChunkPlan) -> dict[str, str]:
    adapters = {
        f"chunk_layers_{chunk}.adapter_{place}": f"adapters.{number}"
        for chunk, place, number in _places(plan)
    }
    aggregation = {
        "aggregation_head.linear": "aggregation.proj",
        "aggregation_head.mlp": "aggregation",
    }
    return {
        f"{_WRAPPER}.{theirs}": f"{_WRAPPER}.{ours}"
        for theirs, ours in (adapters | aggregation).items()
    }


def _places(plan: ChunkPlan) -> list[tuple[int, int, int]]:
    return [
        (chunk, place, number)
        for chunk, numbers in enumerate(plan.chunks)
        for place, number in enumerate(numbers)
    ]


class Loaded:
    """What transformers found in a folder, beside what the model has."""

    def __init__(self, model: nn.Module, info: LoadStateDictInfo, folder: str | None):
        self.info = info
        self.folder = folder
        self.found = {name for name in model.state_dict() if _WRAPPER in name} - info.missing_keys
        conversions = model._weight_conversions
        used = [one for one in conversions if isinstance(one, _PublishedName)]
        # So that it is saved under its own names.
        model._weight_conversions = [one for one in conversions if one not in used]
        self.theirs = {}
        if any(_WRAPPER in target for one in used for target in one.target_patterns):
            self.theirs = {ours: theirs for theirs, ours in _published(model.config.plan()).items()}

    def refuse_other_shapes(self) -> None:
        shapes = defaultdict(list)
        for name, found, expected in self.info.mismatched_keys:
            shapes[tuple(found), tuple(expected)].append(name)
        if shapes:
            raise UserError(
                f"{self._listed(names)} in {self.folder} {'is' if len(names) == 1 else 'are'}"
                f" {_shape(found)}; expected {_shape(expected)}, as its config.json says."
                for (found, expected), names in sorted(shapes.items())
            )

    def refuse_other_names(self) -> None:
        """Where nothing of what chunking adds is found, all of it starts afresh."""
        problems = []
        missing = [name for name in self.info.missing_keys if self.found or _WRAPPER not in name]
        if missing:
            problems.append(
                f"{self.folder} lacks {self._listed(missing)}, which its config.json asks for."
            )
        if left := [name for name in self.info.unexpected_keys if _ADDED.search(name)]:
            problems.append(
                f"{self.folder} holds {self._listed(left)}, for which the model of its config.json has"
                " no place."
            )
        if problems:
            raise UserError(problems)

    def _listed(self, names: Iterable[str]) -> str:
        """By the names that the folder uses."""
        listed = sorted(map(self._as_in_folder, names))
        more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
        return ", ".join(listed[:_NAMED]) + more

    def _as_in_folder(self, name: str) -> str:
        for ours, theirs in self.theirs.items():
            if f"{ours}." in name:
                return name.replace(ours, theirs)
        return name


def _shape(sizes: tuple[int, ...]) -> str:
    return " × ".join(map(str, sizes))
