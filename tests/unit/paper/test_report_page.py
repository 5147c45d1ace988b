"""The page: whole in itself, closed to everything else, and the same bytes for the same results."""

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from tests.unit.stories import numbers_of
from workflow_scripts.paper.chapters import Chapter, read_chapters
from workflow_scripts.paper.latex import size_of, write_paper
from workflow_scripts.paper.numbers import run_numbers
from workflow_scripts.paper.page import write_page
from workflow_scripts.paper.run import what_is_missing
from workflow_scripts.render.numbers import Number, Numbers
from workflow_scripts.render.tables import ROWS_READ, write_table
from workflow_scripts.render.web.policy import digest

EVIL = '<script>alert("x")</script> & | {{ 7 }} \\'
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def write_texts(folder: Path, name: str, frame: pd.DataFrame) -> Path:
    """Write a table of texts, shown as they are; return its Markdown file."""
    files = [folder / f"{name}.{kind}" for kind in ("csv", "md", "tex")]
    write_table(frame, files, title=f"Table {name}", note=f"Note {EVIL}", shown=frame)
    return files[1]


def read_results(folder: Path, numbers: Numbers) -> tuple[list[Chapter], list[str]]:
    """Read a table and figure of the prompts study, and those of a chapter that no study has."""
    names = {"prompts": "prompt_runs", "elsewhere": "mystery"}
    files = {
        chapter: [folder / f"tables/{name}.md", folder / f"figures/{name}.png"]
        for chapter, name in names.items()
    }
    captions = {name: f"Caption of {name}\n{EVIL}" for name in names.values()}
    return read_chapters(numbers, files, captions)


def provenance(**changes) -> dict:
    keys = ("commits", "packages", "hosts", "devices", "dtypes", "attention", "engines", "dates")
    return {
        "studies": {"harmony": {"records": 2, "items": 10, "tokens": 100}},
        "seen": {key: [f"{key} {EVIL}"] for key in keys} | {"devices": ["cpu"]},
        "models": {"a/b": {"commit": "0" * 40, "weights_sha256": "1" * 64}},
        "datasets": {"c/d": "2" * 40},
        "broken": [],
        "config": {"source": "huggingface", "note": EVIL},
        **changes,
    }


def write_results(folder: Path, rows: int = 3) -> None:
    (folder / "tables").mkdir(parents=True)
    (folder / "figures").mkdir()
    frame = pd.DataFrame({"Run": [f"{EVIL} {at}" for at in range(rows)], "Score": "0.5"})
    for name in ("prompt_runs", "mystery"):
        write_texts(folder / "tables", name, frame)
        (folder / f"figures/{name}.png").write_bytes(PIXEL)
        (folder / f"figures/{name}.pdf").write_bytes(b"%PDF-1.4")


def page(folder: Path, rows: int = 3, links: dict | None = None, **changes) -> str:
    write_results(folder, rows)
    about = provenance(**changes)
    numbers = numbers_with_prompts(about)
    shown, absent = read_results(folder, numbers)
    path = folder / "report/index.html"
    missing = what_is_missing(numbers, absent)
    sources = [{"file": "f", "source": EVIL, "model": "m", "task": "t", "metric": "q"}]
    write_page(path, shown, numbers, about, missing, sources, links or {})
    return path.read_text(encoding="utf-8")


def numbers_with_prompts(about: dict, text: str = EVIL) -> Numbers:
    names = ["questions", "runs", "models", "lowest", "lowest_run", "highest", "highest_run"]
    of_prompts = [Number(f"prompts.{name}", text, text, EVIL) for name in names]
    return Numbers([*numbers_of(run_numbers(about)).values(), *of_prompts])


class Elements(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.found if name == tag]


def test_the_page_needs_no_network_and_no_other_file_to_be_read(tmp_path):
    elements = Elements(page(tmp_path))
    for image in elements.of("img"):
        assert image.get("src", "data:").startswith("data:image/webp;base64,") or not image.get(
            "src"
        )
    assert not elements.of("link") and not elements.of("iframe")
    assert all("src" not in script for script in elements.of("script"))
    addresses = [link["href"] for link in elements.of("a")]
    assert not [a for a in addresses if a.startswith(("http", "//"))]


def test_its_policy_names_its_own_script_and_style_and_forbids_the_rest(tmp_path):
    text = page(tmp_path)
    (policy,) = [m["content"] for m in Elements(text).of("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'; ")
    (script,) = re.findall(r"<script>(.*?)</script>\n</body>", text, re.S)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.S)
    assert f"script-src {digest(script)};" in policy
    assert f"style-src {digest(style)};" in policy
    assert "unsafe" not in policy
    assert not re.search(
        r"\sstyle=|\son\w+=", re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    )


def test_what_models_and_people_wrote_stays_text(tmp_path):
    text = page(tmp_path)
    assert "alert(&#34;x&#34;)" in text or "alert(&quot;x&quot;)" in text
    assert len(Elements(text).of("script")) == 1
    assert "{{ 7 }}" in text


def test_every_figure_has_words_for_those_who_do_not_see_it_and_can_be_saved(tmp_path):
    elements = Elements(page(tmp_path))
    shown = [image for image in elements.of("img") if image.get("src")]
    assert len(shown) == 2
    assert shown[0]["alt"].startswith("Caption of prompt_runs")
    assert all(image["alt"] for image in shown)
    saved = {link["download"] for link in elements.of("a") if "download" in link}
    assert saved >= {
        "prompt_runs.png",
        "prompt_runs.pdf",
        "prompt_runs.csv.gz",
        "prompt_runs.tex.gz",
    }


@pytest.mark.parametrize("size", [(1, 3), (2400, 600)], ids=["higher than wide", "very wide"])
def test_a_figure_that_half_the_width_would_make_unreadable_takes_all_of_it(tmp_path, size):
    assert 'class="large"' not in page(tmp_path)
    Image.new("RGB", size).save(tmp_path / "figures/mystery.png")
    about = provenance()
    numbers = numbers_with_prompts(about)
    told, _ = read_results(tmp_path, numbers)
    write_page(tmp_path / "report/index.html", told, numbers, about, [], [], {})
    text = (tmp_path / "report/index.html").read_text()
    assert re.findall(r'<figure id="([a-z_-]+)" class="large">', text) == ["figure-mystery"]


def test_a_table_nobody_tells_of_is_shown_all_the_same(tmp_path):
    text = page(tmp_path)
    assert "More tables and figures" in text
    assert 'id="table-mystery"' in text
    assert 'id="figure-mystery"' in text


def test_a_long_table_is_cut_and_says_so(tmp_path):
    text = page(tmp_path, rows=ROWS_READ + 5)
    assert f"The first {ROWS_READ:,} of {ROWS_READ + 5:,} rows; all are in the CSV." in text
    (cut,) = re.findall(r'id="table-mystery".*?</details>', text, re.S)
    assert cut.count("<tr>") == ROWS_READ + 1


def test_it_says_what_is_missing_and_why(tmp_path):
    broken = [{"record": "results/records/x.json", "reason": EVIL, "log": "logs/x.log"}]
    text = page(tmp_path, broken=broken)
    assert "Do tasks agree about models?”: the config asks for nothing of it" in text
    assert "No model ran on a GPU" in text
    assert "results/records/x.json" in text
    other = provenance()
    other["seen"]["devices"] = ["cuda (NVIDIA H100)"]
    numbers = numbers_of(run_numbers(other))
    assert what_is_missing(numbers, []) == []


def test_it_links_to_the_leaderboard_where_there_is_one(tmp_path):
    with_link = page(tmp_path / "a", links={"Leaderboard": "leaderboard.html"})
    assert '<a class="page" href="leaderboard.html">Leaderboard</a>' in with_link
    assert "leaderboard.html" not in page(tmp_path / "b")


def test_a_miniature_run_says_that_it_is_one(tmp_path):
    notice = "generated models answer generated questions"
    assert notice in page(tmp_path / "a", config={"source": "miniature"})
    assert notice not in page(tmp_path / "b")
    nothing = page(tmp_path / "c", config={"source": "miniature"}, studies={})
    assert notice not in nothing
    assert "This run measured nothing itself" in nothing


def test_the_same_results_give_the_same_bytes(tmp_path):
    assert page(tmp_path / "a") == page(tmp_path / "b")


def test_a_table_is_shown_as_its_markdown_has_it(tmp_path):
    names = [EVIL, "b", r"a \| b | c", "[x](y) <b> `c`", ""]
    frame = pd.DataFrame({"Name": names, "Score": ["0.5", None, "−1.0", "∞", "0.5 ± 0.1"]})
    files = {"elsewhere": [write_texts(tmp_path, "t", frame)]}
    (*_, chapter), _ = read_chapters(numbers_of({}), files, {})
    shown = chapter.tables[0].shown
    assert (shown.title, shown.head) == ("Table t", ["Name", "Score"])
    assert shown.note == f"Note {EVIL}"
    assert [row[0] for row in shown.rows] == names
    assert [row[1] for row in shown.rows] == ["0.5", "—", "−1.0", "∞", "0.5 ± 0.1"]
    assert shown.right == [False, True]


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (3, 5, (r"\footnotesize", False)),
        (6, 5, (r"\scriptsize", True)),
        (30, 5, None),
        (3, 500, None),
    ],
)
def test_a_table_is_printed_where_it_fits_on_a_page(tmp_path, columns, rows, expected):
    frame = pd.DataFrame({f"c{at}": ["x" * 25] * rows for at in range(columns)})
    files = {"elsewhere": [write_texts(tmp_path, "t", frame)]}
    (*_, chapter), _ = read_chapters(numbers_of({}), files, {})
    assert size_of(chapter.tables[0]) == expected


def test_the_paper_says_the_same_with_numbers_by_name(tmp_path):
    write_results(tmp_path)
    about = provenance()
    numbers = numbers_with_prompts(about, "10%")
    told, _ = read_results(tmp_path, numbers)
    write_paper(tmp_path / "report/paper.tex", told, numbers, about, [])
    text = (tmp_path / "report/paper.tex").read_text()
    assert r"\val{prompts.lowest}" in text
    assert r"\input{../tables/prompt_runs.tex}" in text
    assert r"{../figures/prompt_runs.pdf}" in text
    assert "10%" not in text
