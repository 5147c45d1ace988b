"""The model that all trainings of a job share: loaded once, and given to each training as it was loaded."""

import copy
from functools import partial
from pathlib import Path
from typing import Any

from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.training_keys import TrainingKeys


class Base:
    """A model that is loaded on demand, in the dtype that the trainings of the job have."""

    def __init__(self, manifest_path: Path, loading: Loading):
        self._load = partial(load_model, manifest_path, **loading.loading)
        self._loaded: LoadedModel | None = None

    def loaded(self, dtype: str) -> LoadedModel:
        """Return the model, which is not to be changed."""
        self._loaded = self._loaded or self._load(dtype=dtype)
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
