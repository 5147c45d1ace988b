"""Names, licences and what models write are shown as text, wherever they stand, and never run."""

import csv
import io
import re

import pytest

from tests.browser.boards import ATTACKS, FORMULAS, HOSTILE, hostile_board, plain_board
from workflow_scripts.core.clean_text import plain_lines

pytestmark = pytest.mark.chromium


@pytest.fixture
def page(page_of):
    return page_of(hostile_board())


def assert_nothing_was_made_of_it(page):
    page.assert_calm()
    made = "img, svg, iframe, object, embed, b, link, script:not([type]):not(body > script)"
    assert page.run("return document.querySelectorAll(arguments[0]).length", made) == 0
    assert (
        page.run(
            "return [...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames())"
            ".filter((name) => name.startsWith('on'))"
        )
        == []
    )
    links = page.run("return [...document.querySelectorAll('a')].map((a) => a.href)")
    assert all(link.startswith("https:") for link in links)


def test_a_hostile_name_is_text_in_every_place(page):
    page.open()
    assert page.texts("h1") == page.texts("#about") == [HOSTILE]
    assert page.texts("[role=tab]")[0] == page.texts("#tab-about")[0] == HOSTILE
    assert HOSTILE in page.names()
    assert HOSTILE in page.texts(".chip span")
    assert HOSTILE in page.texts(".tabulator-row .note")
    assert f"⚑ {HOSTILE}" in page.texts(".tabulator-row .flag")
    assert page.find(".tabulator-row .name").get_attribute("title") == HOSTILE
    page.click("#columns summary")
    page.choose(HOSTILE)
    page.search(HOSTILE)
    assert page.names() == [HOSTILE]
    assert_nothing_was_made_of_it(page)


@pytest.mark.parametrize("at", range(len(ATTACKS)))
def test_the_details_of_a_hostile_row_are_text(page, at):
    page.open()
    page.run("document.querySelectorAll('.tabulator-row .name')[arguments[0]].click()", at)
    page.run("document.querySelectorAll('#details .item').forEach((item) => { item.open = true; })")
    text = plain_lines(ATTACKS[at])
    assert page.run("return document.querySelector('#details h2').textContent") == text
    parts = page.run(
        "return [...document.querySelectorAll('#details dd, #details dt, #details li, #details pre')]"
        ".map((e) => e.textContent)"
    )
    assert parts.count(text) >= 5
    # A link of that kind is shown as text.
    assert "javascript:alert(7)" in page.run(
        "return document.querySelector('p.flagged').textContent"
    )
    assert_nothing_was_made_of_it(page)


def test_a_hostile_row_has_an_address_too(page):
    page.open()
    page.click(".tabulator-row .name", ATTACKS[1])
    page.open(page.hash())
    assert page.texts("#details h2") == [ATTACKS[1]]
    assert_nothing_was_made_of_it(page)


def test_a_hostile_text_tab_is_text(page):
    page.open("#tab=text")
    parts = (
        "#text-text h2, #text-text h3, #text-text p, #text-text th, #text-text td, #text-text pre"
    )
    assert page.texts(parts) == [HOSTILE] * 6
    assert_nothing_was_made_of_it(page)


def test_no_cell_of_the_download_is_a_formula(page):
    page.open()
    lines = list(csv.reader(io.StringIO(page.download().decode("utf-8"), newline="")))
    assert len(lines) == len(ATTACKS) + len(FORMULAS) + 1
    names = [line[0] for line in lines[1:]]
    assert set(names) >= {f"'{formula}" for formula in FORMULAS}
    for cell in (cell for line in lines for cell in line):
        assert not re.match(r"\s*[=+@＝＋＠－-]", cell) or cell == "-1.5", cell


def test_the_policy_stops_a_script_that_would_slip_in(page_of):
    """The second lock, tried from inside: neither HTML, nor an inline script, nor a request."""
    page = page_of(plain_board()).open()
    page.run("document.querySelector('#about').innerHTML = '<img src=x onerror=alert(1)>'")
    assert page.run("return document.querySelector('#about').children.length") == 0
    for script in (
        "document.body.setAttribute('onclick', 'window.ran = 1'); document.body.click()",
        "const e = document.createElement('script'); e.textContent = 'window.ran = 1';"
        " document.body.append(e)",
        "window.eval('window.ran = 1')",
        "new Function('window.ran = 1')()",
    ):
        # Later, because the policy does not bind what the driver itself runs.
        page.run(f"setTimeout(() => {{ {script} }})")
        page.settle()
    assert page.run("return window.ran === undefined")
    asked = page.chrome.execute_async_script(
        "const done = arguments[0];"
        "fetch('https://example.org/').then(() => done('sent'), () => done('refused'))"
    )
    assert asked == "refused"
    assert page.run("return window.violations.length") >= 5


def test_an_ordinary_visit_breaks_no_rule_and_asks_for_nothing(page_of):
    page = page_of(plain_board()).open()
    page.search("alpha")
    page.sort("ARC")
    page.click("[role=tab]", "Prompt runs")
    page.click(".tabulator-row .name", "run9")
    page.click(".close")
    page.download()
    page.assert_calm()
