"""The harmony study."""
