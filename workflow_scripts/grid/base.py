"""One model for all trainings of a job: loaded once, and each training is given it as it was loaded."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.training_keys import TrainingKeys


class Base:
    def __init__(self, load: Callable[[str], LoadedModel]):
        """`load` is called with the number format of the weights."""
        self._load = load
        self._loaded: LoadedModel | None = None

    @classmethod
    def of(cls, manifest_path: Path, loading: Loading) -> "Base":
        return cls(lambda dtype: load_model(manifest_path, **loading.loading | {"dtype": dtype}))

    def loaded(self, dtype: str) -> LoadedModel:
        """To look at, and not to change."""
        if self._loaded is None or self._loaded.dtype != dtype:
            self._loaded = None  # a GPU may have no room for two
            self._loaded = self._load(dtype)
        return self._loaded

    def get_trainable_model(self, dtype: str, keys: TrainingKeys) -> Any:
        """A model to put adapters into, around the weights of the one that stays.

        Where the weights themselves are trained, the one that is there is given away, and the next
        is loaded again.
        """
        model = self.loaded(dtype).model
        if keys.adapters_alone:
            return copy_sharing_weights(model)
        self._loaded = None
        return model


def copy_sharing_weights(model: Any) -> Any:
    """A copy of the modules without a copy of the parameters: what is done to the one is not to the other."""
    return copy.deepcopy(model, {id(parameter): parameter for parameter in model.parameters()})
