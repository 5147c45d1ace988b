"""Build leaderboard pages for tests: a plain one, and one with an attack in every text."""

from markupsafe import Markup

from workflow_scripts.render.web.board import Column, Tab, render_board

HOSTILE = "<img src=x onerror=alert(1)>"
ATTACKS = [
    HOSTILE,
    "</script><script>alert(2)</script>",
    "<!--<script>alert(3)",
    "=1+1",
]
KINDS = {
    "name": "name",
    "type": "choice",
    "average": "score",
    "parameters": "count",
    "licence": "choice",
    "commit": "commit",
    "note": "text",
    "flag": "flag",
}
COLUMNS = [
    Column(field, field.title(), kind, shown=kind not in ("text", "flag"))
    for field, kind in KINDS.items()
]
NAMES = ["org/Alpha", "org/alpha-2", "org/Beta", "lab/run9", "lab/run10", "lab/Delta"]
LICENCES = ["mit", "apache-2.0", "cc-by-sa-4.0", "llama3", "MIT", None]


def make_plain_page() -> str:
    rows = [
        {
            "name": name,
            "type": "chat",
            "average": None if number == 5 else (number + 1) / 12,
            "average_stderr": 0.0125,
            "parameters": 10 ** (number + 5),
            "licence": licence,
            "commit": f"{number}" * 40,
            "note": "=1+1",
            "flag": None,
        }
        for number, (name, licence) in enumerate(zip(NAMES, LICENCES, strict=True))
    ]
    rows[2] |= {"flag": "trained on the test", "flag_link": "https://example.org/discussion"}
    baseline = {"name": "Baseline", "average": 0.3, "is_baseline": True}
    suite = Tab("suite", "Suite", "Scores.", COLUMNS, [baseline, *rows], sort="average")
    runs = Tab("runs", "Prompt runs", "Runs.", COLUMNS[:1], rows[3:5], sort="name")
    texts = {"About": Markup("<h2>About</h2><p>Rules.</p>")}
    return render_board("Leaderboard", "Models.", [suite, runs], texts)


def make_hostile_page() -> str:
    texts = ("name", "type", "licence", "commit", "note", "flag")
    numbers = {"average": 0.5, "parameters": 1, "flag_link": "javascript:alert(7)"}
    rows = [dict.fromkeys(texts, text) | numbers for text in ATTACKS]
    columns = [Column(column.field, HOSTILE, column.kind, help=HOSTILE) for column in COLUMNS]
    tab = Tab("suite", HOSTILE, HOSTILE, columns, rows, sort="average")
    return render_board(HOSTILE, HOSTILE, [tab], {})
