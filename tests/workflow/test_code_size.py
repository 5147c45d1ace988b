"""Limit the size of the code.

It is counted in tokens without comments, docstrings, imports and layout, so that joining or splitting lines
does not change it. A total is never raised; each change lowers it to the new count.
"""

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "workflow_scripts"
PACKAGE_TOKENS = 155_115  # including the rules; about six tokens a line
TEST_TOKENS = 95_965
TOKENS_OF_A_RULE_LINE = 6
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def find_sources(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.py") if "__pycache__" not in path.parts]


def is_docstring(node: ast.AST) -> bool:
    text = node.value if isinstance(node, ast.Expr) else None
    return isinstance(text, ast.Constant) and isinstance(text.value, str)


def count_tokens(path: Path) -> int:
    text = path.read_text(encoding="utf-8")
    excluded: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom) or is_docstring(node):
            excluded |= set(range(node.lineno, node.end_lineno + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type not in LAYOUT and token.start[0] not in excluded for token in tokens)


def count_package() -> int:
    rules = [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk")]
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in rules)
    return sum(map(count_tokens, find_sources(PACKAGE))) + TOKENS_OF_A_RULE_LINE * lines


def count_tests() -> int:
    return sum(map(count_tokens, find_sources(ROOT / "tests")))


@pytest.mark.parametrize(
    ("count", "total"),
    [(count_package, PACKAGE_TOKENS), (count_tests, TEST_TOKENS)],
    ids=["package", "tests"],
)
def test_code_size(count, total):
    """The count must be at most the total, and above 98% of it, so that the total falls with the code."""
    assert 0.98 * total <= count() <= total
