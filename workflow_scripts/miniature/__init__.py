"""Generate the demo: facts, text and datasets, and place the small models that the repository ships.

`build_world` writes the hub folder: generated datasets and the shipped models.
"""
