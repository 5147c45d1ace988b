"""The mmlu study."""
