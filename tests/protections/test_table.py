"""The table of protections fits the code and the document; `make test-protections` runs it."""

import ast
from pathlib import Path

from tests.protections.table import DOCUMENT, ROOT, TABLES, document, rows

ROWS = [row for table in TABLES for row in rows(table)]
PROTECTIONS = [one for row in ROWS for one in row.held_by]


def test_every_change_still_applies_and_leaves_python():
    for one in PROTECTIONS:
        assert one.new != one.old
        removed = one.removed()
        if one.file.endswith(".py"):
            ast.parse(removed, one.file)


def test_every_test_that_is_named_is_there():
    known: dict[str, set[str]] = {}
    for one in PROTECTIONS:
        path, _, test = one.test.partition("::")
        if path not in known:
            tree = ast.parse(Path(ROOT, path).read_text(encoding="utf-8"))
            known[path] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert test.partition("[")[0] in known[path], one.test


def test_every_kind_is_tried():
    assert len(ROWS) >= 40
    assert not [row.what for row in ROWS if not (row.held_by or row.tried)]


def test_the_document_shows_the_table():
    """`python -m tests.protections --document` writes it."""
    assert DOCUMENT.read_text(encoding="utf-8") == document()
