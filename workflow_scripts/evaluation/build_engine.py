"""Choose the engine that runs a model: the prefix-sharing engine, or a server."""

from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.served import ServedModel


def build_engine(loaded: LoadedModel):
    """Build the engine that runs a loaded model."""
    if isinstance(loaded.model, ServedModel):
        from workflow_scripts.evaluation.served import ServedEngine

        return ServedEngine(loaded.model, loaded.tokenizer)
    from workflow_scripts.evaluation.prefix.engine import PrefixEngine

    return PrefixEngine(loaded.model)
