"""Test the report page, which is self-contained and reproducible, and the LaTeX paper."""

import base64
import html
import re
from pathlib import Path

import pandas as pd

from tests.unit.stories import make_story_numbers
from workflow_scripts.paper.numbers import compute_run_numbers
from workflow_scripts.paper.report import read_content, write_page, write_paper
from workflow_scripts.render.tables import read_markdown, write_table
from workflow_scripts.render.web.policy import hash_source

EVIL = '<script>alert("x")</script> & | {{ 7 }} \\'
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def write_texts(folder: Path, name: str, frame: pd.DataFrame) -> None:
    files = [folder / f"{name}.{kind}" for kind in ("csv", "md", "tex")]
    write_table(frame, files, title=f"Table {name}", note=f"Note {EVIL}", shown=frame)


def make_content(folder: Path, rows: int, **changes) -> dict:
    """Write a table and figure for the prompts chapter and for a chapter without a study."""
    frame = pd.DataFrame({"Run": [f"{EVIL} {index}" for index in range(rows)], "Score": "0.5"})
    files, captions = {}, {}
    for chapter, name in (("prompts", "prompt_runs"), ("elsewhere", "mystery")):
        write_texts(folder / "tables", name, frame)
        png = folder / f"figures/{name}.png"
        png.parent.mkdir(parents=True, exist_ok=True)
        png.write_bytes(PIXEL)
        files[chapter] = [str(folder / f"tables/{name}.md"), str(png)]
        captions[name] = f"Caption of {name}\n{EVIL}"
    provenance = {
        "studies": {"harmony": {"records": 2, "items": 10, "tokens": 100}},
        "seen": {"commits": [EVIL], "hosts": [EVIL], "devices": ["cpu"]},
        "models": {"a/b": {"commit": "0" * 40, "weights_sha256": "1" * 64}},
        "datasets": {"c/d": "2" * 40},
        "broken": [],
        "config": {"source": "huggingface", "note": EVIL},
        **changes,
    }
    names = ["questions", "runs", "models", "lowest", "highest"]
    numbers = make_story_numbers(compute_run_numbers(provenance))
    numbers |= {f"prompts.{name}": 0.5 for name in names}
    numbers |= {"prompts.lowest_run": EVIL, "prompts.highest_run": EVIL}
    content = read_content(numbers, files, captions) | {"provenance": provenance}
    content["sources"] = [{"file": "f", "source": EVIL, "model": "m", "task": "t", "metric": "q"}]
    return content | {"pages": [folder / "leaderboard.html"]}


def page(folder: Path, rows: int = 3, **changes) -> str:
    path = folder / "report/index.html"
    write_page(path, make_content(folder, rows, **changes))
    return path.read_text(encoding="utf-8")


def test_page_is_self_contained(tmp_path):
    text = page(tmp_path / "a")
    assert text == page(tmp_path / "b")
    addresses = re.findall(r'(?:src|href)="([^"]*)"', text)
    images = [address for address in addresses if address.startswith("data:image/png;base64,")]
    assert len(images) == 2 and "Caption of prompt_runs" in text
    others = set(addresses) - set(images)
    assert others >= {"../tables/mystery.csv", "../figures/mystery.pdf", "leaderboard.html"}
    assert not [address for address in others if ":" in address or address.startswith("//")]
    (policy,) = re.findall(r'Security-Policy" content="([^"]*)"', text)
    (script,) = re.findall(r"<script>(.*?)</script>\n</body>", text, re.S)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.S)
    policy = html.unescape(policy)
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    assert f"script-src {hash_source(script)};" in policy
    assert f"style-src {hash_source(style)};" in policy
    assert text.count("<script") == 1 and "{{ 7 }}" in text, "what others wrote is escaped"


def test_page_warnings_and_failed_cells(tmp_path):
    failures = [{"record": "x.json", "reason": EVIL, "log": "x.log"}]
    text = page(tmp_path, broken=failures, config={"source": "miniature"})
    assert "generated models answer" in text and "x.json" in text


def test_markdown_table_round_trip(tmp_path):
    names = [EVIL, "b", r"a \| b | c", "[x](y) <b> `c`", ""]
    frame = pd.DataFrame({"Name": names, "Score": ["0.5", None, "−1.0", "∞", "0.5 ± 0.1"]})
    for rows in (5, 0):
        write_texts(tmp_path, "t", frame[:rows])
        shown = read_markdown(tmp_path / "t.md")
        head = (shown.title, shown.note, shown.head)
        assert head == ("Table t", f"Note {EVIL}", ["Name", "Score"])
        assert shown.rows == frame[:rows].fillna("—").to_numpy().tolist()
        assert not rows or shown.is_right == [False, True]


def test_paper_is_escaped(tmp_path):
    write_paper(tmp_path / "paper.tex", make_content(tmp_path, 3))
    text = (tmp_path / "paper.tex").read_text()
    assert "input{../tables/prompt_runs.tex}" in text and "prompt_runs.pdf" in text
    assert "{{ 7 }}" not in text, "braces are escaped"
