"""What the table of trained checkpoints is asked."""

from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.request import StepRequest


class ComparedCheckpoints(StepRequest):
    """The checkpoints of training, in the order of the table, and the texts that they read."""

    checkpoints: tuple[str, ...]
    texts: tuple[str, ...]


def compared_checkpoints(settings: Settings) -> ComparedCheckpoints:
    names = [str(one) for one in settings.compared_checkpoints()]
    return ComparedCheckpoints(checkpoints=names, texts=measured_texts(settings))


def measured_texts(settings: Settings) -> list[str]:
    """Wikitext has no difficulty; of Magpie each is a text of its own."""
    difficulties = settings.chunking.measures.difficulties
    return sorted([*(f"magpie ({difficulty})" for difficulty in difficulties), "wikitext"])


def untrained_texts(settings: Settings) -> list[str]:
    """List the texts whose perplexity is measured of untrained plans: also what these write."""
    written = ["written"] if settings.chunking.measures.written_tokens else []
    return [*measured_texts(settings), *written]
