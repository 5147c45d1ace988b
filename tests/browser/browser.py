"""Open the leaderboard page in a headless Chromium."""

import csv
import json
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

# Runs before the page's scripts, and collects errors, dialogs and violations of the content security policy.
WATCH = """
window.violations = [];
window.faults = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.sample));
window.addEventListener("error", (event) => window.faults.push(event.message));
window.addEventListener("unhandledrejection", (event) => window.faults.push(String(event.reason)));
for (const name of ["alert", "confirm", "prompt"]) window[name] = () => window.faults.push(name);
"""


def start_chromium(chromium: str, driver: str, folder: Path) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    arguments = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage"
    for argument in [*arguments.split(), "--disable-background-networking"]:
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={folder}")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    # Both programs are given, so that selenium does not search the network for them.
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    chrome.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    return chrome


class Page:
    """A page of the leaderboard in the browser."""

    def __init__(self, chrome: webdriver.Chrome, path: Path):
        self.chrome = chrome
        self.path = path
        download = {"behavior": "allow", "downloadPath": str(path.parent)}
        chrome.execute_cdp_cmd("Browser.setDownloadBehavior", download)

    def open(self, address: str = "", width: int = 1280) -> "Page":
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.chrome.get("about:blank")  # a change of the fragment alone would not reload the page
        for log in ("performance", "browser"):
            self.chrome.get_log(log)
        self.chrome.get(self.path.as_uri() + address)
        return self

    def run(self, script: str, *arguments: Any) -> Any:
        return self.chrome.execute_script(script, *arguments)

    def find(self, selector: str) -> WebElement:
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    def get_texts(self, selector: str) -> list[str]:
        return self.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".filter((e) => e.checkVisibility()).map((e) => e.innerText)",
            selector,
        )

    def get_names(self) -> list[str]:
        """Return the names of the visible rows in order, without baselines."""
        cell = ".tabulator-row:not(.baseline) .tabulator-frozen > div > span:first-child"
        return self.get_texts(cell)

    def wait_for(self, condition) -> None:
        WebDriverWait(self.chrome, 10, poll_frequency=0.05).until(lambda _: condition())

    def download(self) -> list[list[str]]:
        self.find("#suite .tools > button").click()
        path = self.path.parent / "leaderboard_suite.csv"
        self.wait_for(path.exists)
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.reader(file))

    def assert_calm(self) -> None:
        """Assert that there was no error, dialog, policy violation or other request."""
        assert self.run("return [window.faults, window.violations]") == [[], []]
        assert self.chrome.get_log("browser") == []
        for line in self.chrome.get_log("performance"):
            event = json.loads(line["message"])["message"]
            if event["method"] == "Network.requestWillBeSent":
                url = event["params"]["request"]["url"].split("#")[0]
                assert url == self.path.as_uri() or url.startswith("blob:")
