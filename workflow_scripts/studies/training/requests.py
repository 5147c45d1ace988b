"""List the texts on which perplexity is measured."""

from workflow_scripts.settings.settings import Settings


def list_text_names(settings: Settings) -> list[str]:
    """List the texts for trained checkpoints: wikitext, and Magpie with one text per difficulty."""
    difficulties = settings.chunking.measures.difficulties
    return sorted([*(f"magpie ({difficulty})" for difficulty in difficulties), "wikitext"])


def list_untrained_text_names(settings: Settings) -> list[str]:
    """List the texts for untrained plans, including the text that the plans generate."""
    written = ["written"] if settings.chunking.measures.written_tokens else []
    return [*list_text_names(settings), *written]
