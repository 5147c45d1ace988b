"""Start one Chromium for all tests of this folder; each test reloads the page."""

import shutil
from collections.abc import Callable

import pytest

from tests.browser.browser import Page, start_chromium


@pytest.fixture(scope="session")
def chrome(tmp_path_factory):
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert chromium and driver, "chromium and chromedriver are needed (Debian: chromium-driver)"
    browser = start_chromium(chromium, driver, tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.quit()


@pytest.fixture
def make_page(chrome, tmp_path) -> Callable[[str], Page]:
    """Return a function that writes a page to disk without opening it."""

    def make(html: str) -> Page:
        path = tmp_path / "leaderboard.html"
        path.write_text(html, encoding="utf-8")
        return Page(chrome, path)

    return make
