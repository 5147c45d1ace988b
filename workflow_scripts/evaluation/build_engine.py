"""Choose the engine that runs a model: the prefix-sharing engine, or a server."""

from typing import Any

from workflow_scripts.evaluation.score_cache import ScoreCache
from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.served import ServedModel


def build_engine(loaded: LoadedModel, scored_items: ScoreCache | None = None):
    """Build the engine that runs a loaded model; `scored_items` stores answers so that a killed job can resume."""
    engine: Any
    if isinstance(loaded.model, ServedModel):
        from workflow_scripts.evaluation.served import ServedEngine

        engine = ServedEngine(loaded.model, loaded.tokenizer)
    else:
        from workflow_scripts.evaluation.prefix.engine import PrefixEngine

        engine = PrefixEngine(loaded.model)
    if scored_items:
        engine.look_up_answers = scored_items.look_up_answers
    return engine
