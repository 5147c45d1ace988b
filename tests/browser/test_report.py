"""Test the search in the tables of the report."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.unit.paper.test_report_page import page

pytestmark = pytest.mark.chromium


def test_report_table_search(chrome, tmp_path):
    page(tmp_path, rows=30)
    chrome.get((tmp_path / "report/index.html").as_uri())
    table = chrome.find_element(By.ID, "table-prompt_runs")
    table.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    rows = table.find_elements(By.CSS_SELECTOR, "tbody tr")
    table.find_element(By.CSS_SELECTOR, "input[type=search]").send_keys(" 29 ; 1 0.5")
    names = [row.text.split()[-2] for row in rows if row.is_displayed()]
    assert names == ["1", "11", "21", "29"] and "4 of 30 rows" in table.text
