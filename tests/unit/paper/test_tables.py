"""What rules say of their tables, figures and files is what the modules that they name hold."""

import re
from importlib import import_module

import pytest

from tests.unit.settings.merged import ROOT
from workflow_scripts.paper.tables import table_of

TAKEN = re.compile(r"^use rule (\w+) from \w+ as (\w+) with:\n(.*?)(?:\n\n\n|\Z)", re.M | re.S)
RULES = [
    match.groups()
    for path in sorted((ROOT / "rules").glob("*.smk"))
    for match in TAKEN.finditer(path.read_text(encoding="utf-8"))
]


def named(body: str, kind: str) -> str:
    return re.search(rf'^ +{kind}="([\w.]+)",$', body, re.M)[1]


@pytest.mark.parametrize(("shape", "rule", "body"), RULES, ids=[rule for _, rule, _ in RULES])
def test_a_rule_names_what_makes_its_files(shape, rule, body):
    if shape == "table":
        assert f"table_{table_of(named(body, 'table')).name}" == rule
    elif shape == "figure":
        module = import_module(f"workflow_scripts.{named(body, 'figure')}")
        assert f"figure_{module.FIGURE.name}" == rule
    else:
        module, _, function = named(body, "function").rpartition(".")
        assert callable(getattr(import_module(f"workflow_scripts.{module}"), function))
    assert f"logs/{rule}" in body, "its log bears its name"
