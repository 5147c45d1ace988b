"""Test that the leaderboard page opens without errors, and can search, filter, sort and download its rows."""

import pytest

from tests.browser.boards import ATTACKS, HOSTILE, NAMES, make_hostile_page, make_plain_page

pytestmark = pytest.mark.chromium


@pytest.fixture
def page(make_page):
    return make_page(make_plain_page())


@pytest.mark.parametrize("width", [1280, 375])
def test_page_opens_cleanly(page, width):
    for address, tab in (("", "Suite"), ("#about", "About")):
        page.open(address, width)
        assert page.run("return document.documentElement.scrollWidth") <= width
        assert page.get_texts("nav a[aria-current=page]") == [tab]
        page.assert_calm()


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("ALPHA-2; beta", {"org/alpha-2", "org/Beta"}),
        ("licence:cc-by; license: mit", {"org/Alpha", "lab/run10", "org/Beta"}),
        ("License : mit ;run", {"lab/run10"}),
    ],
)
def test_search_by_names_and_licences(page, query, names):
    page.open()
    page.find("#suite input[type=search]").send_keys(query)
    page.wait_for(lambda: set(page.get_names()) == names)
    count = f"{len(names)} row" + "s" * (len(names) != 1)
    assert page.get_texts("#suite output") == [count]
    assert page.get_texts(".tabulator-row.baseline .tabulator-frozen") == ["Baseline"]


def test_filters_and_download(page):
    page.open()
    assert page.get_names() == [*NAMES[4::-1], NAMES[5]], "missing scores come last"
    page.find(".tabulator-col[tabulator-field=parameters] input").send_keys("<10m")
    page.wait_for(lambda: set(page.get_names()) == set(NAMES[:3]))
    link = page.find(".tabulator-row.flagged a")
    assert link.get_attribute("href") == "https://example.org/discussion"
    page.find("#suite details summary").click()
    page.find("#suite details label:nth-child(6)").click()  # the column Note
    heads, row, *_ = page.download()
    assert heads[:4] == ["Name", "Type", "Average", "Average stderr"]
    assert row[:5] == ["org/Beta", "chat", "25", "1.25", "10000000"]
    assert row[heads.index("Note")] == "'=1+1"
    page.find("#suite .tools input[type=checkbox]").click()
    page.wait_for(lambda: set(page.get_names()) == set(NAMES[:2]))
    page.assert_calm()


def test_hostile_texts_are_escaped(make_page):
    page = make_page(make_hostile_page()).open()
    assert page.get_texts("h1") == page.get_texts("h2") == page.get_texts("nav a") == [HOSTILE]
    assert set(page.get_names()) == set(ATTACKS)
    elements = (
        "img, svg, iframe, object, script:not([type]):not(body > script), a[href^=javascript]"
    )
    assert page.run("return document.querySelectorAll(arguments[0]).length", elements) == 0
    cells = [cell for row in page.download()[1:] for cell in row]
    assert not [cell for cell in cells if cell.startswith("=")]
    page.assert_calm()


def test_policy_stops_injected_scripts_and_requests(page):
    page.open()
    page.run("document.querySelector('h1').innerHTML = '<img src=x onerror=alert(1)>'")
    assert page.run("return document.querySelector('h1').children.length") == 0
    result = page.chrome.execute_async_script(
        "const done = arguments[0];"
        "fetch('https://example.org/').then(() => done('sent'), () => done('refused'))"
    )
    assert result == "refused"
