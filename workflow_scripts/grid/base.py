"""The model that all trainings of a job share: loaded once, and given to each training as it was loaded."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.training_keys import TrainingKeys


class Base:
    """A model that is loaded on demand, by `load` with the dtype of the weights."""

    def __init__(self, load: Callable[[str], LoadedModel]):
        self._load = load
        self._loaded: LoadedModel | None = None

    @classmethod
    def of(cls, manifest_path: Path, loading: Loading) -> "Base":
        return cls(lambda dtype: load_model(manifest_path, **loading.loading | {"dtype": dtype}))

    def loaded(self, dtype: str) -> LoadedModel:
        """Return the model in this dtype, which is not to be changed."""
        if self._loaded is None or self._loaded.dtype != dtype:
            self._loaded = None  # a GPU may have no memory for two
            self._loaded = self._load(dtype)
        return self._loaded

    def get_trainable_model(self, dtype: str, keys: TrainingKeys) -> Any:
        """Return a model to put adapters into, around the weights of the one that stays.

        Where the weights themselves are trained, the loaded model is given away, and the next is loaded again.
        """
        model = self.loaded(dtype).model
        if keys.adapters_alone:
            return copy_sharing_weights(model)
        self._loaded = None
        return model


def copy_sharing_weights(model: Any) -> Any:
    """Copy the modules without the parameters, so that adapters in the copy leave the model as it is."""
    return copy.deepcopy(model, {id(parameter): parameter for parameter in model.parameters()})
