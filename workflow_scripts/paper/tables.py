"""From a table that some rule has made back to its frame, by the module that describes it."""

from importlib import import_module

from workflow_scripts.render.tables import Table


def table_of(module: str) -> Table:
    return import_module(f"workflow_scripts.{module}").TABLE
