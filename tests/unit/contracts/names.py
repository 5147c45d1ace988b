"""What the contract tests ask of a name: that it is there, and takes what it is given."""

import inspect
from pkgutil import resolve_name

import pytest


def takes(signatures: dict[str, str]):
    """A test case per name, `module:name`, with the parameters that it must have."""
    return pytest.mark.parametrize(("name", "parameters"), signatures.items(), ids=[*signatures])


def assert_takes(name: str, parameters: str) -> None:
    found = inspect.signature(resolve_name(name)).parameters
    if not any(one.kind is one.VAR_KEYWORD for one in found.values()):
        assert set(parameters.split()) <= set(found), f"{name}{tuple(found)}"
