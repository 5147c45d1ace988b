"""Build the engine that runs a model: the prefix-sharing engine, or the client of a server."""

from typing import Any

from workflow_scripts.evaluation.score_cache import ScoreCache
from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.served import ServedModel


def build_engine(loaded: LoadedModel, score_cache: ScoreCache | None = None):
    """Build the engine of a loaded model; `score_cache` stores its answers so that a killed job can resume."""
    engine: Any
    if isinstance(loaded.model, ServedModel):
        from workflow_scripts.evaluation.served import ServedEngine

        engine = ServedEngine(loaded.model, loaded.tokenizer)
    else:
        from workflow_scripts.evaluation.prefix.engine import PrefixEngine

        engine = PrefixEngine(loaded.model)
    if score_cache:
        engine.look_up_answers = score_cache.look_up_answers
    return engine
