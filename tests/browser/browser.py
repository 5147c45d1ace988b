"""One headless Chromium, and the leaderboard page in it."""

import csv
import json
import tempfile
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
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

    def __init__(self, chrome: webdriver.Chrome, path: Path):
        self.chrome = chrome
        self.path = path
        chrome.execute_cdp_cmd(
            "Browser.setDownloadBehavior",
            {"behavior": "allow", "downloadPath": str(path.parent)},
        )

    def open(self, address: str = "", size: tuple[int, int] = DESKTOP) -> "Page":
        width, height = size
        self.chrome.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE},
        )
        self.chrome.get("about:blank")  # or an address with another fragment would not load again
        for log in ("performance", "browser"):
            self.chrome.get_log(log)
        self.chrome.get(self.path.as_uri() + address)
        return self

    def run(self, script: str, *arguments: Any) -> Any:
        return self.chrome.execute_script(script, *arguments)

    def find(self, selector: str) -> WebElement:
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return self.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".filter((e) => e.checkVisibility()).map((e) => e.innerText)",
            selector,
        )

    def names(self) -> list[str]:
        """Names of the rows that are drawn, from the top; baselines are none of them."""
        return self.texts(
            ".tabulator-row:not(.baseline) .tabulator-frozen > div > span:first-child"
        )

    def wait_for_names(self, names: set[str]) -> None:
        WebDriverWait(self.chrome, 10, poll_frequency=0.05).until(
            lambda _: set(self.names()) == names, f"{names} are not shown"
        )

    def download(self) -> list[list[str]]:
        self.find("#suite .tools > button").click()
        path = self.path.parent / "leaderboard_suite.csv"
        WebDriverWait(self.chrome, 10, poll_frequency=0.05).until(lambda _: path.exists())
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.reader(file))

    def assert_calm(self) -> None:
        """No fault, no dialog, nothing that the policy had to block, and no request but for the file."""
        assert self.run("return [window.faults, window.violations]") == [[], []]
        assert [line["message"] for line in self.chrome.get_log("browser")] == []
        events = [
            json.loads(line["message"])["message"] for line in self.chrome.get_log("performance")
        ]
        urls = {
            event["params"]["request"]["url"].split("#")[0]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        }
        assert {url for url in urls if not url.startswith("blob:")} == {self.path.as_uri()}
