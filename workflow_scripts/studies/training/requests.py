"""The texts that trained checkpoints read."""

from workflow_scripts.settings.settings import Settings


def list_text_names(settings: Settings) -> list[str]:
    """Wikitext has no difficulty; of Magpie each is a text of its own."""
    difficulties = settings.chunking.measures.difficulties
    return sorted([*(f"magpie ({difficulty})" for difficulty in difficulties), "wikitext"])


def list_untrained_text_names(settings: Settings) -> list[str]:
    """List the texts whose perplexity is measured of untrained plans: also what these write."""
    written = ["written"] if settings.chunking.measures.written_tokens else []
    return [*list_text_names(settings), *written]
