"""The training study."""
