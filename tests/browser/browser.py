"""One headless Chromium, and the page in it as a reader has it: by what is seen, clicked and typed."""

import json
import tempfile
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

DESKTOP = (1280, 900)
PHONE = (375, 740)
# Before any script of the page: what a page may not do is counted.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
window.faults = [];
window.addEventListener("error", (event) => window.faults.push(event.message));
window.addEventListener("unhandledrejection", (event) => window.faults.push(String(event.reason)));
for (const name of ["alert", "confirm", "prompt"]) window[name] = () => window.faults.push(name);
"""


def start_chromium(chromium: str, driver: str, folder: Path) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--disable-background-networking", "--no-first-run", "--hide-scrollbars"),
        f"--user-data-dir={tempfile.mkdtemp(dir=folder)}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    # Both programs are named, so that selenium looks for neither on the network.
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    chrome.set_script_timeout(120)  # a page of thousands of rows on a machine that has other work
    chrome.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    return chrome


class Page:
    """The leaderboard in the browser."""

    def __init__(self, chrome: webdriver.Chrome, path: Path, downloads: Path):
        self.chrome = chrome
        self.path = path
        self.downloads = downloads
        chrome.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)}
        )

    def open(
        self, address: str = "", size: tuple[int, int] = DESKTOP, dark: bool = False
    ) -> "Page":
        width, height = size
        self.chrome.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE},
        )
        self.chrome.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {
                "features": [
                    {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                    {"name": "prefers-reduced-motion", "value": "reduce"},
                ]
            },
        )
        self.chrome.get("about:blank")  # or an address with another fragment would not load again
        self.chrome.get_log("performance")
        self.chrome.get_log("browser")
        self.chrome.get(self.path.as_uri() + address)
        self.settle()
        return self

    def run(self, script: str, *arguments: Any) -> Any:
        return self.chrome.execute_script(script, *arguments)

    def until(self, condition: str, *arguments: Any) -> None:
        """Wait for a condition in JavaScript."""
        WebDriverWait(self.chrome, 20, poll_frequency=0.02).until(
            lambda _: self.run(f"return Boolean({condition})", *arguments), condition
        )

    def settle(self) -> None:
        """Until the table is drawn: two frames after the last change, as the count says it."""
        self.until(
            "document.querySelector('#panel').hidden || document.querySelector('#count').textContent"
        )
        self.chrome.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)));"
        )

    # What is seen

    def find(self, selector: str) -> WebElement:
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return self.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".filter((e) => e.checkVisibility()).map((e) => e.innerText)",
            selector,
        )

    def names(self) -> list[str]:
        """Of the rows that are drawn, from the top."""
        return self.texts(".tabulator-row .name")

    def heads(self) -> list[str]:
        return self.texts(".tabulator-col-title button")

    def count(self) -> str:
        return self.find("#count").text

    def hash(self) -> str:
        return self.run("return location.hash")

    def focused(self) -> str:
        return self.run("return document.activeElement.innerText || document.activeElement.id")

    def details_open(self) -> bool:
        return self.run("return document.querySelector('#details').open")

    # What is done

    def search(self, text: str) -> None:
        self.run(
            "const box = document.querySelector('#search'); box.value = arguments[0];"
            "box.dispatchEvent(new Event('input', {bubbles: true}))",
            text,
        )
        self.settle()

    def click(self, selector: str, text: str = "") -> None:
        elements = self.chrome.find_elements(By.CSS_SELECTOR, selector)
        (wanted,) = [e for e in elements if e.is_displayed() and (not text or e.text == text)][:1]
        wanted.click()
        self.settle()

    def choose(self, *texts: str) -> None:
        """Filters and columns, by what stands on them."""
        for text in texts:
            self.click(".chip", text)

    def sort(self, title: str) -> None:
        for head in self.chrome.find_elements(By.CSS_SELECTOR, ".tabulator-col-title button"):
            if head.is_displayed() and head.text == title:
                head.click()
                return self.settle()
        raise AssertionError(f"no column {title} is shown")

    def press(self, *keys: str) -> None:
        for key in keys:
            webdriver.ActionChains(self.chrome).send_keys(key).perform()
            self.settle()

    def tab_back(self) -> None:
        chain = webdriver.ActionChains(self.chrome)
        chain.key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
        self.settle()

    def tab_to(self, selector: str) -> None:
        """With the Tab key alone."""
        for _ in range(60):
            if self.run("return document.activeElement.matches(arguments[0])", selector):
                return
            self.press(Keys.TAB)
        raise AssertionError(f"the Tab key does not reach {selector}")

    def back(self) -> None:
        self.chrome.back()
        self.settle()

    def download(self) -> bytes:
        for old in self.downloads.iterdir():
            old.unlink()
        self.click("#download")

        def finished(_) -> list[Path]:
            return [path for path in self.downloads.iterdir() if path.suffix == ".csv"]

        (path,) = WebDriverWait(self.chrome, 20, poll_frequency=0.02).until(finished)
        return path.read_bytes()

    def copied(self, selector: str) -> str:
        """What a click on a button that copies has put where the next program finds it."""
        allowed = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
        self.chrome.execute_cdp_cmd("Browser.grantPermissions", allowed)
        self.click(selector)
        return self.chrome.execute_async_script(
            "const done = arguments[0]; navigator.clipboard.readText().then(done, () => done(null))"
        )

    # What must not happen

    def assert_calm(self) -> None:
        """No fault, no dialog, nothing that the policy had to block, and no request but for the file."""
        assert self.run("return window.faults") == []
        assert self.run("return window.violations") == []
        assert [line["message"] for line in self.chrome.get_log("browser")] == []
        sent = [
            json.loads(line["message"])["message"] for line in self.chrome.get_log("performance")
        ]
        asked = {
            event["params"]["request"]["url"].split("#")[0]
            for event in sent
            if event["method"] == "Network.requestWillBeSent"
        }
        assert {url for url in asked if not url.startswith("blob:")} == {self.path.as_uri()}
