"""What the terminal says at the end: tables that fit on it, and where the others lie."""

from pathlib import Path

import pytest

from workflow_scripts.bridge import closing
from workflow_scripts.bridge.closing import closing_words, words_of_failure
from workflow_scripts.bridge.interruption import INTERRUPTED

pytestmark = pytest.mark.usefixtures("here")


def test_a_table_too_wide_or_too_long_for_a_terminal_is_named_and_not_shown():
    folder = Path("results/tables")
    folder.mkdir(parents=True)
    (folder / "fits.md").write_text("# Fits\n\n| a | b |\n| - | - |\n| 1 | 2 |\n")
    (folder / "wide.md").write_text("# Wide\n\n" + "| cell " * 60 + "|\n")
    (folder / "long.md").write_text("# Long\n\n" + "| 1 |\n" * 60)
    said = closing_words()
    assert "# Fits" in said
    assert "# Wide" not in said
    assert "# Long" not in said
    for name in ("fits", "wide", "long"):
        assert f"tables/{name}.md" in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("leaderboard.html", "open it in a browser"),
        ("paper.tex", "the same as a paper; `snakemake paper_pdf` sets it"),
    ],
)
def test_a_page_that_was_made_is_named(name, said):
    page = Path("results/report") / name
    assert name not in closing_words()
    page.parent.mkdir(parents=True)
    page.write_text("made")
    assert f"{page}  {said}" in closing_words()


def test_of_a_suite_the_scores_are_shown_and_not_what_was_found_beside_them():
    folder = Path("results/tables")
    folder.mkdir(parents=True)
    heads = ["Model", "Commit", "Average", "MMLU (acc, 5-shot)", "Flag"]
    row = ["org/net", "0123abc", "58.1 ± 2.0", "60.0 ± 1.0", "a reason " * 30]
    lines = [heads, ["---", "---", "---:", "---:", "---"], row]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    (folder / "suite_leaderboard.md").write_text(f"# Leaderboard\n\n{table}\n")
    (folder / "suite_checks.md").write_text("# Worth a look\n\n| a |\n| - |\n| 1 |\n")
    said = closing_words()
    assert "| Model   |    Average |       MMLU |" in said
    assert "| org/net | 58.1 ± 2.0 | 60.0 ± 1.0 |" in said
    assert "# Worth a look" not in said and "suite_checks.md" in said


def test_an_interrupted_run_says_so_whatever_snakemake_takes_it_for(monkeypatch):
    monkeypatch.setattr(closing, "is_interrupted", lambda: True)
    for words in (closing_words(), words_of_failure()):
        assert words.strip() == INTERRUPTED
