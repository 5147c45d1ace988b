"""The chunking study."""
