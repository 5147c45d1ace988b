"""How to cite the page or a row is there to be copied, and TeX can read it whatever strangers wrote."""

import re

import pytest

from tests.browser.boards import board, hostile_board, plain_board, row, tab

pytestmark = pytest.mark.chromium


def fields(bibtex: str) -> dict[str, str]:
    """Of the first entry, as BibTeX reads it: braces pair, one behind a backslash too."""
    body = bibtex.split(",\n", 1)[1]
    found, at = {}, 0
    while match := re.compile(r"\s*(\w+) = \{").match(body, at):
        depth, start = 1, match.end()
        at = start
        while depth:
            depth += {"{": 1, "}": -1}.get(body[at], 0)
            at += 1
        found[match[1]] = body[start : at - 1]
        at += body[at : at + 1] == ","
    assert body[at:].lstrip().startswith("}")
    return found


def test_the_button_shows_what_to_cite_and_copies_it(page_of):
    page = page_of(plain_board()).open()
    page.click("#cite")
    shown = page.find("#citation pre").text
    assert shown.startswith("@misc{leaderboard-suite,")
    assert shown.endswith("@misc{work,\n  title = {{A work}}\n}")
    said = fields(shown)
    assert said["title"] == "{Leaderboard, Suite}"
    assert said["note"].startswith("code: 0123abc; read on 20")
    assert "url" not in said, "nobody else has this disk"
    assert page.copied("#citation button:not(.close)") == shown
    page.click("#citation .close")
    page.click("[role=tab]", "Prompt runs")
    page.click("#cite")
    assert fields(page.find("#citation pre").text)["title"] == "{Leaderboard, Prompt runs}"
    assert "@misc{work" not in page.find("#citation pre").text
    page.assert_calm()


def test_a_row_is_cited_with_what_tells_it_apart_and_its_scores_with_their_errors(page_of):
    one = row(0, "org/net_1", arc=0.25, licence=None, revision="0123abcd")
    page = page_of(board(tab([one]))).open("#suite.row=row-0")
    said = fields(page.find("#details .copied pre").text)
    assert said["title"] == r"{org/net\_1, Leaderboard, Suite}"
    for part in (r"ARC: 25.00 $\pm$ 1.25", "Precision: bfloat16", "Revision: 0123abcd"):
        assert part in said["note"].split("; ")
    assert "Licence" not in said["note"]


def test_what_strangers_wrote_cannot_break_out_of_an_entry(page_of):
    nasty = r"a}\input{/etc/passwd}%$x^2_3~#&}"
    one = row(0, nasty, type=nasty)
    page = page_of(board(tab([one]))).open("#suite.row=row-0")
    said = fields(page.find("#details .copied pre").text)
    left, right = r"\textbraceleft{}", r"\textbraceright{}"
    escaped = (
        rf"a{right}\textbackslash{{}}input{left}/etc/passwd{right}"
        rf"\%\$x\textasciicircum{{}}2\_3\textasciitilde{{}}\#\&{right}"
    )
    assert said["title"] == f"{{{escaped}, Leaderboard, Suite}}"
    assert f"Type: {escaped}" in said["note"].split("; ")


def test_a_hostile_board_is_cited_as_text(page_of):
    page = page_of(hostile_board()).open()
    page.click("#cite")
    assert page.find("#citation pre").text.endswith("<img src=x onerror=alert(1)>")
    page.assert_calm()
