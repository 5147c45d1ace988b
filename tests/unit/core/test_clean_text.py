"""A stranger's text in what shows it: nothing in it acts, and what it says is kept."""

import html
import random
import re
import string
import subprocess
import unicodedata

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_scripts.core.clean_text import (
    clean_lines,
    escape_csv,
    escape_html,
    escape_latex,
    escape_markdown,
    plain,
    shorten_text,
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
    """Tell by Unicode's own categories, beside the module's list of ranges."""
    shown_joins = "\u200c\u200d"  # within words and emoji
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and (
        character not in shown_joins
    )


def test_plain_every_character():
    for number in range(0x110000):
        character = chr(number)
        if unicodedata.category(character) == "Cn":  # which nobody has given a meaning yet
            continue
        is_kept = plain(character) == character
        assert is_kept != is_active(character), (hex(number), unicodedata.name(character, ""))


@given(pieces)
def test_text_in_each_format(text):
    assert not any(
        is_active(character) for character in clean_lines(text) if character not in "\n\t"
    )
    assert plain(plain(text)) == plain(text) and not any(
        is_active(character) for character in plain(text)
    )
    assert len(shorten_text(text * 100)) <= 1_001
    cell = escape_csv(text)
    assert not re.match(r"\s*[=+\-@＝＋－＠]", cell)
    assert unescape_csv(cell) == plain(text)
    assert html.unescape(escape_html(text)) == clean_lines(text)
    assert not set("<>\"'") & set(escape_html(text))
    line = f"| a | {escape_markdown(text)} | b |"
    # As GitHub reads rows: a backslash takes the sign behind it along.
    assert (
        "\n" not in line and len(re.findall(r"\\.|\|", line)) - len(re.findall(r"\\.", line)) == 4
    )
    assert not re.search(r"(?<!\\)(?:\\\\)*[<`]|\][(\[]", escape_markdown(text))


@given(st.text("abcXYZ 0189.:@%-_~", max_size=12))
def test_plain_account(account):
    for address in (f"http://{account}@mirror/a@b", f"see https://{account}:{account}@h:80 now"):
        text = plain(address)
        assert re.fullmatch(r"http://mirror/a@b|see https://h:80 now", text) or " " in account
    text = plain("(http://u:p@a/x) 'https://t@b' see http://c/d@e and f@g.org")
    assert text == "(http://a/x) 'https://b' see http://c/d@e and f@g.org"


# Halves of characters are no text to pandas; what strangers say loses them before.
WHOLE = [text for text in HOSTILE if not re.search("[\ud800-\udfff]", text)]


def write(folder, names: list[str]) -> dict:
    files = {kind: folder / f"hostile.{kind}" for kind in ("csv", "md", "tex")}
    frame = pd.DataFrame({"name": names, "value": -0.5})
    title, note = "\n".join(names[:40]), "\n\n".join(names[:7])
    write_table(frame, list(files.values()), title=title, note=note, shown=frame)
    return files


@pytest.mark.tex
def test_tex_compiles(tmp_path):
    """TeX sets a table of hostile and of random texts, and runs nothing of them."""
    draw = random.Random(0)
    characters = [chr(number) for number in range(0x20000) if not 0xD800 <= number < 0xE000]
    samples = ["".join(draw.choices(characters, k=40)) for _ in range(200)]
    samples += ["".join(draw.choices(string.printable, k=40)) for _ in range(200)]
    samples.append("".join(map(chr, range(0xA0, 0x250))))
    assert write(tmp_path, [*WHOLE, *samples])["tex"].read_text("utf-8").isascii()
    (tmp_path / "all.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\usepackage{longtable}\begin{document}"
        rf"\section{{{escape_latex(WHOLE[0])}}}{escape_latex(''.join(WHOLE))}"
        r"\input{hostile.tex}\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    run = subprocess.run([*command, "all.tex"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:]
    assert "root:" not in run.stdout and "(/etc/passwd" not in run.stdout
