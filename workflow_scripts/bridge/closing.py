"""What the terminal says at the end of a run; stdlib only, because the Snakefile imports it."""

from pathlib import Path

from workflow_scripts.bridge.interruption import INTERRUPTED, is_interrupted
from workflow_scripts.bridge.terminal_table import narrowed
from workflow_scripts.core.broken import broken_cells
from workflow_scripts.core.clean_text import plain_lines

FAILED = """
Not everything was made. The log of each failed job is shown above and kept in logs/. Mend the cause
and run the same command again: what was finished is not done again.
"""
RESULTS = Path("results")
# Written by `snakemake plan`, `submit` and `products`, whose words they are.
SAID = ("plan.txt", "requests/submitted.txt", "products.txt")
# A grid of a thousand rows, or of 24 columns, is for an editor, not for the terminal.
LINES_SHOWN = 30
WIDTH_SHOWN = 200
# Of the leaderboard a terminal shows the scores, and leaves out what was found beside them.
LEFT_OUT = ("Commit", "Type", "Missing", "Flag")
CHECKS = "suite_checks.md"


def words_of_failure() -> str:
    """The last lines of a run that failed."""
    return f"\n{INTERRUPTED}\n" if is_interrupted() else FAILED


def closing_words(since: float = 0.0) -> str:
    """Where tables and figures lie that were made since then, and the tables that a terminal can show."""
    if (
        is_interrupted()
    ):  # Snakemake takes some runs for finished whose jobs were ended under its hands
        return f"\n{INTERRUPTED}\n"

    def made(pattern: str) -> list[Path]:
        return sorted(path for path in RESULTS.glob(pattern) if path.stat().st_mtime >= since)

    tables, figures = made("tables/*.md"), made("figures/*.png")
    lines = [""]
    texts = [path for name in SAID for path in made(name)]
    lines += [path.read_text(encoding="utf-8") for path in texts]
    board = RESULTS / "tables/suite_leaderboard.md"
    for table in tables:
        if table.name == CHECKS and board in tables:
            continue
        text = table.read_text(encoding="utf-8").strip()
        if table == board:
            text = f"{narrowed(text, LEFT_OUT)}\n\n{', '.join(LEFT_OUT)}: in {board}"
        widest = max((len(line) for line in text.splitlines() if line.startswith("|")), default=0)
        if text.count("\n") <= LINES_SHOWN and widest <= WIDTH_SHOWN:
            lines += [text, ""]
    about = {
        RESULTS / "report/index.html": "  the report: all studies on one page",
        RESULTS / "report/paper.tex": "  the same as a paper; `snakemake paper_pdf` sets it",
        RESULTS / "report/paper.pdf": "  the paper, set",
        RESULTS / "report/leaderboard.html": "  open it in a browser",
        RESULTS / "scores.csv": "  every number, one a row",
        RESULTS / "explained_prompt.txt": "  what the model is sent",
        RESULTS
        / "plan.csv": "  the same as a table; plan.json has every model, and the longest chain",
    }
    new = [*made("*"), *made("report/*")]
    about = {path: words for path, words in about.items() if path in new}
    if tables or figures:  # the page that explains them was there before
        about |= {RESULTS / "README.md": "  what is where"}
    places = [path for path in (*tables, *figures, *about) if path.exists()]
    if places:
        lines += ["Where to look:", *(f"  {path}{about.get(path, '')}" for path in places)]
    broken = broken_cells()
    if broken:
        lines += ["", "Broken cells; their tables say so, and the next run tries them again:"]
        lines += [f"  {cell['record']}: {cell['reason']} ({cell['log']})" for cell in broken]
    return plain_lines("\n".join(lines))
