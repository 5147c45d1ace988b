"""Share one loaded model between all training runs of a job; each run starts from the original weights."""

import copy
from functools import partial
from pathlib import Path
from typing import Any

from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.training_keys import TrainingKeys


class SharedModel:
    """A model that is loaded on demand; all training runs of a job have one dtype."""

    def __init__(self, manifest_path: Path, loading: Loading):
        self._load = partial(load_model, manifest_path, **loading.loading)
        self._loaded: LoadedModel | None = None

    def get_loaded_model(self, dtype: str) -> LoadedModel:
        """Return the model, loaded in `dtype` at the first call; callers must not change it."""
        self._loaded = self._loaded or self._load(dtype=dtype)
        return self._loaded

    def get_trainable_model(self, dtype: str, keys: TrainingKeys) -> Any:
        """Return a model to train.

        If adapters are trained, the model shares the weights of the loaded one. Otherwise the loaded model itself
        is returned, and the next call loads it again.
        """
        model = self.get_loaded_model(dtype).model
        if keys.method == "lora":
            return copy_sharing_weights(model)
        self._loaded = None
        return model


def copy_sharing_weights(model: Any) -> Any:
    """Copy the modules but not the parameters, so that adding adapters to the copy does not change the model."""
    return copy.deepcopy(model, {id(parameter): parameter for parameter in model.parameters()})
