"""The prompts study."""
