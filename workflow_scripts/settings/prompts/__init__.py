"""Prompt runs: their section of the config, and the files that say what a run is."""
