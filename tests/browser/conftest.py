"""One Chromium for all tests here; each opens the page anew."""

import shutil
from collections.abc import Callable

import pytest
from workflow_scripts.render.web.page import leaderboard_page

from tests.browser.browser import Page, start_chromium
from workflow_scripts.core.files import write_text
from workflow_scripts.render.web.board import Board


@pytest.fixture(scope="session")
def chrome(tmp_path_factory):
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert chromium and driver, "chromium and chromedriver are needed (Debian: chromium-driver)"
    browser = start_chromium(chromium, driver, tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.quit()


@pytest.fixture
def page_of(chrome, tmp_path) -> Callable[[Board], Page]:
    """The page of a board, not opened yet."""

    def make(board: Board) -> Page:
        path = tmp_path / "leaderboard.html"
        write_text(path, leaderboard_page(board))
        downloads = tmp_path / "downloads"
        downloads.mkdir(exist_ok=True)
        return Page(chrome, path, downloads)

    return make
