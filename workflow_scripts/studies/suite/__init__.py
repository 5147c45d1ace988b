"""The suite study."""
