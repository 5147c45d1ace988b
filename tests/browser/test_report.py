"""The report finds rows of its tables by typing, and gives its figures and tables away as usual files."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.unit.paper.test_report_page import page

pytestmark = pytest.mark.chromium


def test_a_long_table_shows_the_rows_that_hold_any_of_the_typed_names(chrome, tmp_path):
    page(tmp_path, rows=30)
    chrome.get((tmp_path / "report/index.html").as_uri())
    table = chrome.find_element(By.ID, "table-prompt_runs")
    table.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    field = table.find_element(By.CSS_SELECTOR, "input[type=search]")

    def shown() -> list[str]:
        rows = table.find_elements(By.CSS_SELECTOR, "tbody tr")
        return [row.text.split()[-2] for row in rows if row.is_displayed()]

    assert len(shown()) == 30
    field.send_keys(" 29 ; 1 0.5")
    assert shown() == ["1", "11", "21", "29"]
    assert "4 of 30 rows" in table.text
    field.clear()
    field.send_keys(" ")
    assert len(shown()) == 30


def test_a_short_table_has_nothing_to_find(chrome, tmp_path):
    page(tmp_path, rows=3)
    chrome.get((tmp_path / "report/index.html").as_uri())
    assert not chrome.find_elements(By.CSS_SELECTOR, "input[type=search]")


def test_what_is_downloaded_are_the_files_of_the_run_alone_to_the_last_pixel(chrome, tmp_path):
    picture = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    page(tmp_path, picture=picture)
    alone = tmp_path / "alone"
    alone.mkdir()
    (tmp_path / "report/index.html").rename(alone / "index.html")
    behaviour = {"behavior": "allow", "downloadPath": str(alone)}
    chrome.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    chrome.get((alone / "index.html").as_uri())

    def downloaded(name: str) -> Path:
        # An empty file keeps the name until Chromium moves the whole one to it.
        WebDriverWait(chrome, 20, poll_frequency=0.02).until(
            lambda _: (alone / name).exists() and (alone / name).stat().st_size
        )
        return alone / name

    table = chrome.find_element(By.ID, "table-prompt_runs")
    for kind, link in zip(
        ("csv", "tex"), table.find_elements(By.CSS_SELECTOR, ".files a"), strict=True
    ):
        link.send_keys(Keys.ENTER)
        held = downloaded(f"prompt_runs.{kind}").read_bytes()
        assert held == (tmp_path / f"tables/prompt_runs.{kind}").read_bytes()
    chrome.find_element(By.CSS_SELECTOR, "#figure-prompt_runs a.png").send_keys(Keys.ENTER)
    with Image.open(downloaded("prompt_runs.png")) as image:
        assert image.format == "PNG"
        assert np.array_equal(np.asarray(image.convert("RGB")), picture)
