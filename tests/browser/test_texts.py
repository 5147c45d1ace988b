"""The About and FAQ tabs, the icons of model types with their words, and the commit of each row."""

import csv
import io

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from workflow_scripts.studies.suite.about import ICONS

from tests.browser.boards import suite_board

pytestmark = pytest.mark.chromium


@pytest.fixture
def page(page_of):
    return page_of(suite_board())


def test_text_tabs_are_reached_by_keyboard_and_show_their_own_text(page):
    page.open()
    page.tab_to("[role=tab]")
    for key, title in (
        *((Keys.ARROW_RIGHT, "About"), (Keys.ARROW_RIGHT, "FAQ"), (Keys.ARROW_RIGHT, "Suite")),
        *((Keys.ARROW_LEFT, "FAQ"), (Keys.HOME, "Suite"), (Keys.END, "FAQ")),
    ):
        page.press(key)
        assert page.focused() == title
        assert page.texts("[role=tab][aria-selected=true]") == [title]
        (panel,) = [
            one
            for one in page.chrome.find_elements(By.CSS_SELECTOR, "[role=tabpanel]")
            if one.is_displayed()
        ]
        assert panel.accessible_name == title
        tab = page.find("[role=tab][aria-selected=true]")
        assert tab.get_attribute("aria-controls") == panel.get_attribute("id")
    page.press(Keys.TAB)
    assert page.run("return document.activeElement.id") == "text-faq"
    page.assert_calm()


def test_the_address_of_a_text_is_kept_and_goes_back(page):
    page.open("#tab=about")
    assert page.texts(".text h2") == ["About"] and not page.names()
    page.click("[role=tab]", "Suite")
    page.click(".tabulator-row .name", "org/net-2")
    page.click(".close")
    page.back()
    assert page.details_open()
    page.back()
    page.back()
    assert page.texts(".text h2") == ["About"] and not page.details_open()
    page.assert_calm()


def test_without_scripts_every_text_is_shown(page):
    page.chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.chrome.get(page.path.as_uri())
        shown = page.find("body").text
    finally:
        page.chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    board = suite_board()
    for text in board.texts:
        for section in text.sections:
            cells = [cell for line in section.table for cell in line]
            for part in (text.title, section.title, *section.paragraphs, *cells, section.code):
                assert " ".join(part.split()) in " ".join(shown.split())
    assert all(text in shown for text in (board.title, board.about, board.tabs[0].about))


def test_an_icon_is_read_out_as_its_word_and_the_legend_names_each(page):
    page.open()
    cells = page.chrome.find_elements(By.CSS_SELECTOR, ".tabulator-cell[tabulator-field=c1]")
    assert [cell.accessible_name for cell in cells[1:]] == list(ICONS)
    icons = page.run(
        "return [...document.querySelectorAll('.tabulator-row .icon')].map((e) => e.textContent)"
    )
    assert icons == list(ICONS.values())
    assert cells[0].text == "—", "an imported row has no type"
    assert page.texts("#legend li") == [f"{icon} {name}" for name, icon in ICONS.items()]
    page.choose("chat")
    assert page.names() == ["org/net-3"]


def test_the_commit_is_short_in_its_row_and_whole_elsewhere(page):
    page.open()
    cells = page.chrome.find_elements(By.CSS_SELECTOR, ".tabulator-cell.is-commit span")
    assert [cell.text for cell in cells] == ["—", *(f"{at}" * 7 for at in range(len(ICONS)))]
    assert cells[3].get_attribute("title") == "2" * 40
    _, *lines = csv.reader(io.StringIO(page.download().decode("utf-8"), newline=""))
    assert [line[-1] for line in lines] == ["", *(f"{at}" * 40 for at in range(len(ICONS)))]
    page.click(".tabulator-row .name", "org/net-2")
    assert "2" * 40 in page.texts("#details dd")
