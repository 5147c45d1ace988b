"""Searching, filtering, sorting, choosing columns, opening a row, downloading; each kept in the address."""

import csv
import io
from dataclasses import replace

import pytest
from selenium.webdriver.common.by import By

from tests.browser.boards import TYPES, baseline, board, plain_board, random_board, row, tab
from tests.browser.reference import found, ordered
from workflow_scripts.render.web.board import Tab

pytestmark = pytest.mark.chromium


@pytest.fixture
def page(page_of):
    return page_of(plain_board())


def table_of(text: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.decode("utf-8"), newline="")))


def ids_shown(page, shown: Tab) -> list[str]:
    """Of all rows that the page shows, drawn or not, by the revision that is each row's own."""
    heads, *lines = table_of(page.download())
    by_revision = {one.values["revision"]: one.id for one in shown.rows}
    return [by_revision[line[heads.index("Revision")]] for line in lines]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("beta", {"org/Beta"}),
        ("ALPHA-2; beta", {"org/alpha-2", "org/Beta"}),
        ("license: MIT", {"org/Alpha", "lab/gamma-run10"}),
        ("licence:mit", {"org/Alpha", "lab/gamma-run10"}),
        ("license: cc-by; license: mit", {"org/Alpha", "lab/gamma-run10", "org/Beta"}),
        ("gamma; license: MIT", {"lab/gamma-run10"}),
        ("License : mit ;gamma", {"lab/gamma-run10"}),
        ("alpha; gamma; license: llama", {"lab/Gamma-run9"}),
        (" ; ", 6),
        ("license:", 6),
        ("00000002", {"org/Beta"}),
        ("nothing like it", set()),
    ],
)
def test_the_search_knows_every_form(page, query, names):
    page.open()
    page.search(query)
    if isinstance(names, int):
        assert len(page.names()) == names
        assert page.count() == f"{names} rows"
    else:
        assert set(page.names()) == names
        assert page.count() == f"{len(names)} of 6 rows"
    if not names:
        assert page.texts(".none")


@pytest.mark.parametrize("seed", [1, 2])
def test_search_and_sort_agree_with_a_reference_item_by_item(page_of, seed):
    shown = random_board(seed, 300).tabs[0]
    page = page_of(board(shown)).open("#suite.show=revision")
    fields = {"name": "Model", "average": "Average", "type": "Type", "parameters": "Parameters"}
    queries = [
        "",
        "run9; zeta",
        "éclair;licence: cc",
        "license:MIT; license: llama",
        "alpha-",
        "日本",
    ]
    for (field, title), query in zip([*fields.items(), *fields.items()], queries, strict=False):
        page.search(query)
        page.sort(title)
        falls = page.texts("[aria-sort=descending] button") != []
        for falling in (falls, not falls):
            rows = ordered(found(shown, query), field, falling=falling)
            assert ids_shown(page, shown) == [one.id for one in rows]
            page.sort(title)


def test_filters_combine(page_of):
    shown = random_board(3, 200).tabs[0]
    page = page_of(board(shown)).open("#suite.show=revision")
    page.choose(TYPES[0], TYPES[1], "bfloat16", "Hide flagged")
    for side, size in (("from", "350M"), ("to", "7b")):
        page.find(f"[aria-label^='Parameters {side}']").send_keys(size)
    page.settle()
    expected = {
        one.id
        for one in shown.rows
        if one.values["type"] in TYPES[:2]
        and one.values["precision"] == "bfloat16"
        and not one.flag
        and (one.values["parameters"] or 0) >= 350e6
        and one.values["parameters"] <= 7e9
    }
    assert 0 < len(expected) < 200
    assert set(ids_shown(page, shown)) == expected
    assert page.texts("#filters summary") == ["Filters (4)"]


def test_rows_without_a_value_can_be_chosen(page_of):
    shown = tab([row(0, "with"), row(1, "without", type=None)])
    page = page_of(board(shown)).open()
    page.choose("none")
    assert page.names() == ["without"]


def test_a_size_that_is_none_is_marked_and_filters_nothing(page):
    page.open()
    field = page.find("[aria-label^='Parameters from']")
    field.send_keys("large")
    page.settle()
    assert field.get_attribute("aria-invalid") == "true"
    assert page.count() == "6 rows"


def test_columns_are_chosen_and_their_help_is_there(page):
    page.open()
    assert page.heads()[0] == "Model"
    assert "Average" in page.heads()
    assert "Revision" not in page.heads()
    page.click("#columns summary")
    page.choose("Revision", "ARC")
    assert "Revision" in page.heads()
    assert "ARC" not in page.heads()
    assert page.find("[title='The mean of the tasks.']").text == "Average"


def test_a_row_opens_its_details(page):
    page.open()
    page.click(".tabulator-row .name", "org/Beta")
    said = page.find("#details").text
    assert page.texts("#details h2") == ["org/Beta"]
    assert "trained on the test" in said
    facts = dict(zip(page.texts("#details dt"), page.texts("#details dd"), strict=True))
    assert facts["ARC"] == "14.43 ± 1.25"
    assert facts["Parameters"] == "3,000,000"
    assert facts["submitted by"] == "somebody"
    heads = ["task", "score (%)", "stderr (%)", "n", "floor (%)", "revision", "seconds"]
    assert page.texts("#details th") == heads
    assert page.texts("#details td")[:7] == [
        *("ARC", "14.4", "1.3", "200", "25.0", "abc123", "3.250")
    ]
    page.click(".item.wrong summary")
    assert "Question 0 of ARC?" in page.find(".item.wrong").text
    assert len(page.texts(".item.right summary")) == 3
    page.click(".close")
    assert not page.details_open()
    assert page.hash() == ""


def test_a_baseline_stands_first_and_is_no_row_of_the_results(page_of):
    beside = [baseline("Floor", average=0.5, arc=0.99), baseline("Random answers", arc=0.25)]
    names = [f"org/net-{at}" for at in range(5)]
    models = [row(at, name, average=at / 10) for at, name in enumerate(names)]
    page = page_of(board(replace(tab(models), baselines=beside))).open()
    above = [one.id for one in beside]
    assert page.names() == [*above, *reversed(names)]
    assert page.count() == "5 rows"
    page.sort("Average")
    assert page.names() == [*above, *names], "they stay where they are in the other order too"
    assert "none" not in page.texts(".chip span"), "what a baseline has no value of is no choice"
    page.search("net-3")
    assert page.names() == [*above, "org/net-3"]
    assert page.count() == "1 of 5 rows"
    assert [line[0] for line in table_of(page.download())] == ["Model", "org/net-3"]
    style = "return getComputedStyle(document.querySelectorAll('.tabulator-row')[arguments[0]])"
    looks = [page.run(f"{style}.fontStyle + {style[7:]}.backgroundColor", at) for at in (0, 2)]
    assert looks[0] != looks[1]
    page.click(".tabulator-row .name", "Floor")
    assert "What Floor is." in page.find("#details").text
    assert page.texts("#details dt") == ["Average", "ARC"]
    page.click(".close")
    page.search("nothing like it")
    assert page.names() == [] and page.texts(".none")


def test_a_flagged_row_is_marked_with_reason_and_link_and_a_note_is_shown(page):
    page.open()
    (link,) = page.chrome.find_elements(By.CSS_SELECTOR, ".tabulator-row.flagged a")
    assert link.text == "⚑ trained on the test"
    assert link.get_attribute("href") == "https://example.org/discussion"
    assert "noopener" in link.get_attribute("rel")
    assert page.texts(".tabulator-row .note") == ["ARC: at the floor"]


def test_the_address_holds_everything_and_gives_it_back(page):
    page.open()
    page.search("a; license: m")
    page.choose("pretrained", "chunked", "Hide flagged")
    page.find("[aria-label^='Parameters from']").send_keys("1M")
    page.click("#columns summary")
    page.choose("Revision", "MMLU")
    page.click("h1")
    page.sort("ARC")
    page.sort("ARC")
    page.click(".tabulator-row .name", "org/Alpha")
    address = page.hash()
    page.click(".close")
    before = (page.names(), page.heads(), page.count())
    page.open(address)
    assert page.texts("#details h2") == ["org/Alpha"]
    page.click(".close")
    assert (page.names(), page.heads(), page.count()) == before
    assert page.find("#search").get_attribute("value") == "a; license: m"
    assert page.texts(".chip:has(input:checked) span") == ["chunked", "pretrained", "Hide flagged"]
    assert page.find("[aria-label^='Parameters from']").get_attribute("value") == "1M"


def test_each_tab_keeps_what_was_chosen_in_it(page):
    page.open()
    page.search("beta")
    page.click("[role=tab]", "Prompt runs")
    assert page.names() == ["run9", "run10"]
    page.sort("p")
    page.click("[role=tab]", "Suite")
    assert page.names() == ["org/Beta"]
    address = page.hash()
    page.open(address)
    assert page.names() == ["org/Beta"]
    page.click("[role=tab]", "Prompt runs")
    assert page.names() == ["run10", "run9"]


def test_back_undoes_one_choice_at_a_time(page):
    page.open()
    page.find("#search").send_keys("beta")  # letter by letter, one choice
    page.settle()
    page.choose("Hide flagged")
    assert page.count() == "0 of 6 rows"
    page.back()
    assert page.count() == "1 of 6 rows"
    page.click(".tabulator-row .name", "org/Beta")
    assert page.details_open()
    page.back()
    assert not page.details_open()
    page.back()
    assert page.count() == "6 rows"
    assert page.find("#search").get_attribute("value") == ""
    page.chrome.forward()
    page.settle()
    assert page.count() == "1 of 6 rows"


def test_an_address_that_names_what_is_not_there_shows_the_table(page):
    page.open(
        "#tab=no&suite.sort=falling:no&suite.show=no&suite.row=no&suite.is.no=x&constructor=1"
    )
    assert page.count() == "6 rows"
    assert not page.details_open()
    page.assert_calm()


def test_the_download_is_what_is_shown_in_full(page_of):
    third = 1 / 3
    quoted = row(0, 'with "quotes", commas', arc=third, average=0.9)
    shown = tab([quoted, row(1, "none", arc=None, flag="x")])
    page = page_of(board(shown)).open("#suite.hide=type&suite.hide=licence")
    page.search("o")
    heads, first, second = table_of(page.download())
    assert heads == [
        *("Model", "Average", "ARC", "ARC stderr", "HellaSwag", "HellaSwag stderr"),
        *("MMLU", "MMLU stderr", "Precision", "Parameters", "Flagged"),
    ]
    assert first[:4] == ['with "quotes", commas', "0.9", str(third), "0.0125"]
    assert second[2] == ""
    assert second[-1] == "x"
    assert [path.name for path in page.downloads.iterdir()] == ["leaderboard_suite.csv"]
