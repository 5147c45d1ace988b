"""The leaderboard page opens without errors, and finds, filters, sorts and gives away its rows."""

import pytest

from tests.browser.boards import ATTACKS, HOSTILE, NAMES, make_hostile_page, make_plain_page
from tests.browser.browser import DESKTOP, PHONE
from workflow_scripts.core.clean_text import clean_lines

pytestmark = pytest.mark.chromium


@pytest.fixture
def page(make_page):
    return make_page(make_plain_page())


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize(("address", "tab"), [("", "Suite"), ("#about", "About")])
def test_page_opens_without_errors_or_sideways_scrolling(page, address, tab, size):
    page.open(address, size)
    assert page.run("return document.documentElement.scrollWidth") <= size[0]
    assert page.texts("nav a[aria-current=page]") == [tab]
    page.assert_calm()


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("beta", {"org/Beta"}),
        ("ALPHA-2; beta", {"org/alpha-2", "org/Beta"}),
        ("licence:cc-by; license: mit", {"org/Alpha", "lab/run10", "org/Beta"}),
        ("License : mit ;run", {"lab/run10"}),
    ],
)
def test_search_by_names_and_licences(page, query, names):
    page.open()
    page.find("#suite input[type=search]").send_keys(query)
    page.wait_for_names(names)
    assert page.texts("#suite output") == [f"{len(names)} rows"]
    assert page.texts(".tabulator-row.baseline .tabulator-frozen") == ["Floor"]


def test_numbers_are_filtered_by_a_bound_and_missing_ones_come_last(page):
    page.open()
    assert page.names() == [*NAMES[4::-1], NAMES[5]]
    page.find(".tabulator-col[tabulator-field=parameters] input").send_keys("10m")
    page.wait_for_names(set(NAMES[2:]))


def test_flagged_row_is_marked_with_its_link_and_can_be_hidden(page):
    page.open()
    link = page.find(".tabulator-row.flagged a")
    assert link.text == "⚑ trained on the test"
    assert link.get_attribute("href") == "https://example.org/discussion"
    page.find("#suite .tools input[type=checkbox]").click()
    page.wait_for_names(set(NAMES) - {"org/Beta"})


def test_download_has_the_shown_columns_with_errors_and_no_formula(page):
    page.open()
    page.find("#suite details summary").click()
    page.find("#suite details label:nth-child(6)").click()  # Note
    page.find("#suite input[type=search]").send_keys("beta")
    page.wait_for_names({"org/Beta"})
    heads, row = page.download()
    assert heads == [
        *("Model", "Type", "Average", "Average stderr", "Parameters", "Licence", "Commit"),
        *("Note", "Flag"),
    ]
    assert row == [
        *("org/Beta", "◆ fine-tuned", "25", "1.25", "10000000", "cc-by-sa-4.0", "2" * 40),
        *("'=1+1", "trained on the test"),
    ]
    page.assert_calm()


def test_hostile_texts_are_text_in_every_place(make_page):
    page = make_page(make_hostile_page()).open()
    assert page.texts("h1") == page.texts("h2") == page.texts("nav a") == [HOSTILE]
    assert set(page.names()) == {" ".join(clean_lines(text).split()) for text in ATTACKS}
    page.find(".tabulator-col[tabulator-field=type] input").click()
    assert HOSTILE in page.texts(".tabulator-edit-list-item")
    made = "img, svg, iframe, object, embed, script:not([type]):not(body > script), a[href^=javascript]"
    assert page.run("return document.querySelectorAll(arguments[0]).length", made) == 0
    page.find("h1").click()
    cells = [cell for row in page.download()[1:] for cell in row]
    assert not [cell for cell in cells if cell.lstrip()[:1] in ("=", "@", "＝")]
    page.assert_calm()


def test_policy_stops_a_script_that_would_slip_in(page):
    page.open()
    page.run("document.querySelector('h1').innerHTML = '<img src=x onerror=alert(1)>'")
    assert page.run("return document.querySelector('h1').children.length") == 0
    # Later, because the policy does not bind what the driver itself runs.
    page.run("setTimeout(() => { document.body.setAttribute('onclick', 'window.ran = 1'); })")
    page.find("h1").click()
    sent = page.chrome.execute_async_script(
        "const done = arguments[0];"
        "fetch('https://example.org/').then(() => done('sent'), () => done('refused'))"
    )
    assert sent == "refused" and page.run("return window.ran === undefined")
