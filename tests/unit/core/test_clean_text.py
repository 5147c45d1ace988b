"""Test escaping of untrusted text in each output format: no markup acts, and the content is preserved."""

import re
import subprocess
import unicodedata

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_scripts.core.clean_text import (
    clean_line,
    clean_lines,
    escape_csv,
    escape_latex,
    escape_markdown,
    unescape_csv,
)
from workflow_scripts.render.tables import write_table

HOSTILE = [
    *("\x1b[2Jgone", "a\rb", "a\r\nb\n\nc", "a\0b", "\x9b31m", "\u202egnp.exe", "\u2066x\u2069"),
    *('=HYPERLINK("http://x","y")', "+1", "-1", "@x", " =1", "＝1", "'=1", "''+1", "\t=1"),
    *("汉字", "👩‍💻🏳️‍🌈", "Ελλάδα", "Žluťoučký ǅ ñ é", "e\u0301", "\ud83d\ude00", "\udc80", "½ « » „"),
    *("\\", "\\\\", "a\\", "\\input{/etc/passwd}", "\\end{document}", "%", "$x_1^2$", "#{}~&"),
    *("|", "\\|", "a|b", "<b>&lt;</b>", "[x](javascript:alert(1))", "![](http://x)", "`a`", "[", "*"),
    *("http://user:pa:ss@word@host/x", "http://token@host:80/", "me@example.org", "?`!`<<>>--"),
]  # fmt: skip
texts = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(), max_size=30))
pieces = st.lists(texts, max_size=4).map("".join)


def is_active(character: str) -> bool:
    """Return whether a character is active, by Unicode category; the module under test lists ranges."""
    shown_joins = "\u200c\u200d"  # within words and emoji
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and (
        character not in shown_joins
    )


def test_clean_line_every_character():
    for character in map(chr, range(0x110000)):
        if unicodedata.category(character) != "Cn":  # unassigned
            assert (clean_line(character) == character) != is_active(character), hex(ord(character))


@given(pieces)
def test_text_in_each_format(text):
    assert not any(map(is_active, re.sub("[\n\t]", "", clean_lines(text))))
    assert not any(map(is_active, clean_line(text)))
    cell = escape_csv(text)
    assert not re.match(r"\s*[=+\-@＝＋－＠]", cell) and unescape_csv(cell) == clean_line(text)
    # As GitHub parses rows: a backslash escapes the next character.
    assert "|" not in re.sub(r"\\.", "", f"{escape_markdown(text)} ")
    assert not re.search(r"(?<!\\)(?:\\\\)*[<`]|\][(\[]", escape_markdown(text))


def test_clean_line_account():
    text = clean_line("(http://u:p@a/x) 'https://t@b' see http://c/d@e and f@g.org")
    assert text == "(http://a/x) 'https://b' see http://c/d@e and f@g.org"


@pytest.mark.tex
def test_tex_compiles(tmp_path):
    """TeX typesets hostile text inside and outside a table without executing it."""
    # pandas rejects surrogates; untrusted text loses them earlier.
    names = [text for text in HOSTILE if not re.search("[\ud800-\udfff]", text)]
    names.append("".join(map(chr, range(0xA0, 0x250))))
    frame = pd.DataFrame({"name": names, "value": -0.5})
    files = [tmp_path / f"hostile.{kind}" for kind in ("csv", "md", "tex")]
    write_table(frame, files, title="\n".join(names), note="\n\n".join(names[:7]), shown=frame)
    (tmp_path / "all.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\usepackage{longtable}\begin{document}"
        rf"\section{{{escape_latex(names[0])}}}{escape_latex(''.join(names))}"
        r"\input{hostile.tex}\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    run = subprocess.run([*command, "all.tex"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:]
    assert "root:" not in run.stdout and "(/etc/passwd" not in run.stdout
