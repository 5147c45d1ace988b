"""A phone, a keyboard, dark mode, thousands of rows."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.boards import board, plain_board, random_board, row, suite_board, tab
from tests.browser.browser import DESKTOP, PHONE
from workflow_scripts.render.web.board import Column, Row, Tab

pytestmark = pytest.mark.chromium

# Rows on a screen, and those that are kept ready above and below it.
FEW = 120


@pytest.fixture
def page(page_of):
    return page_of(plain_board())


def luminance(colour: list[float]) -> float:
    def linear(part: float) -> float:
        part /= 255
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = map(linear, colour[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(page, selector: str) -> float:
    """Of an element's text with the first colour behind it."""
    text, back = page.run(
        """
        const parts = (colour) => colour.match(/[0-9.]+/g).map(Number);
        let element = document.querySelector(arguments[0]);
        const text = parts(getComputedStyle(element).color);
        for (; element; element = element.parentElement) {
          const back = parts(getComputedStyle(element).backgroundColor);
          if (back.length === 3 || back[3] > 0) return [text, back];
        }
        """,
        selector,
    )
    lighter, darker = sorted((luminance(text), luminance(back)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_can_be_read_in_both_modes(page, dark):
    page.open("#suite.row=row-2", dark=dark)
    page.click(".item.right summary")
    page.click(".item.wrong summary")
    background = page.run("return getComputedStyle(document.documentElement).backgroundColor")
    assert ("21, 24, 26" in background) == dark
    for selector in (
        *("h1", "#about", "#search-help", "[role=tab]", "[role=tab][aria-selected=false]"),
        *("#download", ".chip span", "legend", "#count", ".tabulator-col-title button"),
        *(".tabulator-row .name", ".tabulator-cell small", ".tabulator-row a.flag", ".note"),
        *("p.flagged", "#details dt", "#details dd", "#details th", "#details td"),
        *(".right .mark", ".wrong .mark", ".item pre", "#details a", "footer"),
    ):
        assert contrast(page, selector) >= 4.5, selector


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_beside_the_table_can_be_read_in_both_modes(page_of, dark):
    page = page_of(suite_board()).open(dark=dark)
    for selector in (".tabulator-row .icon", "#legend li", ".tabulator-cell.is-commit span"):
        assert contrast(page, selector) >= 4.5, selector
    page.open("#tab=about", dark=dark)
    for selector in ("#text-about h3", "#text-about p", ".text th", ".text td", ".text pre"):
        assert contrast(page, selector) >= 4.5, selector


@pytest.mark.parametrize("address", ["", "#tab=about", "#tab=faq"])
def test_a_phone_shows_texts_and_icons_without_scrolling_sideways(page_of, address):
    page = page_of(suite_board()).open(address, PHONE)
    assert page.run("return document.documentElement.scrollWidth") <= PHONE[0]
    cut = (
        "return [...document.querySelectorAll('.text td, .text p, .text pre, #legend li')]"
        ".filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth)"
        ".map((e) => e.textContent)"
    )
    assert page.run(cut) == []


@pytest.mark.parametrize("address", ["", "#suite.row=row-2", "#tab=runs"])
def test_a_phone_scrolls_the_table_and_never_the_page_sideways(page, address):
    page.open(address, PHONE)
    if not page.details_open():
        page.click("#filters summary") if page.find("#filters").is_displayed() else None
        page.click("#columns summary")
    assert page.run("return document.documentElement.scrollWidth") <= PHONE[0]
    assert page.run("return document.body.scrollWidth") <= PHONE[0]
    wide = page.run(
        "const all = [...document.querySelectorAll('header, #toolbar, #toolbar *, fieldset, footer,"
        " .choices, dialog[open], dialog[open] header, .close')].filter((e) => e.checkVisibility());"
        "return all.filter((e) => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map((e) => e.outerHTML.slice(0, 80))"
    )
    assert wide == []


def test_on_a_phone_the_names_stay_while_the_scores_scroll(page):
    page.open("", PHONE)
    assert page.run("return document.querySelector('#filters').open") is False
    holder = ".tabulator-tableholder"
    assert (
        page.run(
            f"const h = document.querySelector('{holder}'); h.scrollLeft = 200; return h.scrollLeft"
        )
        > 100
    )
    page.settle()
    left = page.run(
        "return document.querySelector('.tabulator-row .name').getBoundingClientRect().left"
    )
    assert 0 <= left < 60


def test_on_a_phone_the_open_tab_is_in_sight(page_of):
    tabs = [tab([row(0, f"org/{at}")], name=f"t{at}", title=f"Tab number {at}") for at in range(5)]
    page = page_of(board(*tabs)).open("#tab=t4", PHONE)
    seen = page.run(
        "const { left, right } = document.querySelector('[aria-selected=true]').getBoundingClientRect();"
        "return left >= 0 && right <= innerWidth + 1"
    )
    assert seen


def test_on_a_phone_names_are_whole(page_of):
    long = "miniature/Qwen2-1M-Instruct@k2m12+cpt+sft"
    rows = [row(0, long), row(1, long.removesuffix("+sft"), flag="Trained on the test.")]
    page = page_of(board(tab(rows))).open("", PHONE)
    assert set(page.names()) == {long, long.removesuffix("+sft")}
    cut = page.run(
        "return [...document.querySelectorAll('.tabulator-row .name')].filter((e) =>"
        " e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1"
        " || e.closest('.tabulator-cell').scrollHeight > e.closest('.tabulator-row').clientHeight)"
        ".map((e) => e.textContent)"
    )
    assert cut == []


SUITE = ("ARC-Challenge", "HellaSwag", "TruthfulQA", "MMLU", "Winogrande", "GSM8K")


def test_a_desktop_shows_every_task_of_the_suite_whole(page_of):
    """With the widest fonts there are (Debian's), a long name, and errors of a few items."""
    scores = dict.fromkeys(("Average", *SUITE), 0.417)
    errors = {f"{title}_stderr": 0.149 for title in scores}
    name = "miniature/Qwen2-1M-Instruct@k2m12+cpt"
    columns = [
        Column("name", "Model", "name"),
        Column("precision", "Precision", "choice"),
        *(Column(title, title, "score") for title in scores),
        Column("licence", "Licence", "choice"),
    ]
    given = {"name": name, "precision": "bfloat16", **scores, **errors, "licence": "apache-2.0"}
    suite = Tab("suite", "Suite", "", columns, [Row("1", given)], sort="Average")
    page = page_of(board(suite)).open()
    assert page.names() == [name]
    cut = page.run(
        """
        const right = document.querySelector('#table').getBoundingClientRect().right;
        const parts = [...document.querySelectorAll('.tabulator-cell.is-name .name,'
          + ' .tabulator-cell.is-choice > *, .is-score > *, .is-score .tabulator-col-title button')];
        return parts.filter((e) => e.checkVisibility() && e.textContent !== 'apache-2.0')
          .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth
            || e.getBoundingClientRect().right > right)
          .map((e) => e.textContent);
        """
    )
    assert cut == []


def test_the_keyboard_reaches_and_does_everything(page):
    page.open()
    page.tab_to("[role=tab]")
    page.press(Keys.ARROW_RIGHT)
    assert page.focused() == "Prompt runs"
    assert page.names() == ["run9", "run10"]
    page.press(Keys.ARROW_RIGHT)
    assert page.focused() == "Suite"
    page.tab_to("#search")
    page.press("a", "l", "p", "h")
    assert set(page.names()) == {"org/Alpha", "org/alpha-2"}
    page.press(Keys.BACKSPACE, Keys.BACKSPACE, Keys.BACKSPACE, Keys.BACKSPACE)
    page.tab_to("#columns summary")
    page.press(Keys.ENTER, Keys.TAB, Keys.SPACE)
    assert "Average" not in page.heads()
    page.press(Keys.ESCAPE)
    assert not page.run("return document.querySelector('#columns').open")
    page.tab_to("fieldset input")
    page.press(Keys.SPACE)
    assert page.count() == "1 of 6 rows"
    page.press(Keys.SPACE)
    page.tab_to(".tabulator-col-title button")
    page.press(Keys.TAB, Keys.ENTER)
    assert page.texts("[aria-sort=descending]") == ["ARC"]


def test_rows_are_walked_with_arrows_and_opened_with_enter(page):
    page.open()
    page.tab_to(".tabulator-row")
    assert page.focused().startswith("lab/Delta")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.focused().startswith("lab/Gamma-run9")
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert page.run(outline) == "solid"
    page.press(Keys.ENTER)
    assert page.texts("#details h2") == ["lab/Gamma-run9"]
    assert page.run("return document.querySelector('#details').contains(document.activeElement)")
    page.press(Keys.ESCAPE)
    assert not page.details_open()
    assert page.focused().startswith("lab/Gamma-run9")
    page.press(Keys.END)
    assert page.focused().startswith("org/Alpha")
    page.press(Keys.HOME, Keys.ARROW_UP)
    assert page.focused().startswith("lab/Delta")
    # Out again, forwards and backwards: the table is one stop.
    page.tab_back()
    assert page.run("return document.activeElement.matches('.tabulator-col-title button')")


def test_a_reader_of_the_screen_hears_what_things_are(page):
    page.open()
    assert page.run("return document.documentElement.lang") == "en"
    for selector in (
        *("[role=tablist][aria-label]", "[role=tab][aria-selected=true]", "[role=tabpanel]"),
        *(
            "#search[aria-label]",
            "#count[role=status]",
            "[role=columnheader][aria-sort=descending]",
        ),
        *("[role=row][aria-haspopup=dialog]", "[role=gridcell]"),
    ):
        assert page.find(selector), selector


def test_of_thousands_of_rows_only_those_in_sight_are_in_the_page(page_of):
    page = page_of(random_board(4, 10_000, items=1))
    page.open()
    rows = "return document.querySelectorAll('.tabulator-row').length"
    assert page.count() == "10,000 rows"
    assert 10 < page.run(rows) < FEW
    assert page.run("return document.querySelectorAll('*').length") < 40 * FEW
    page.tab_to(".tabulator-row")
    first = page.focused()
    page.press(Keys.END)
    page.until("document.activeElement.matches('.tabulator-row:last-child')")
    last = page.focused()
    assert last != first
    assert page.run(rows) < FEW
    page.press(Keys.ENTER)
    assert page.texts("#details h2")[0] in last
    assert len(page.texts("#details td")) == 21
    page.assert_calm()


def test_the_page_uses_the_width_it_has(page):
    page.open(size=DESKTOP)
    assert page.run("return document.documentElement.scrollWidth") <= DESKTOP[0]
    table = "document.querySelector('.tabulator-tableholder')"
    assert page.run(f"return {table}.scrollWidth - {table}.clientWidth") <= 1


def test_no_number_is_cut_off(page_of):
    page = page_of(random_board(5, 40)).open()
    cut = page.run(
        "return [...document.querySelectorAll('.is-score > span, .is-count > span')]"
        ".filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"
    )
    assert cut == []
