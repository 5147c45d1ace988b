"""The library behind the workflow; see docs/architecture.md for its rooms."""
