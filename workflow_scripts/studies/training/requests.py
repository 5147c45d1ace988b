"""The texts that trained checkpoints read."""

from workflow_scripts.settings.load import Settings


def measured_texts(settings: Settings) -> list[str]:
    """Wikitext has no difficulty; of Magpie each is a text of its own."""
    difficulties = settings.chunking.measures.difficulties
    return sorted([*(f"magpie ({difficulty})" for difficulty in difficulties), "wikitext"])
