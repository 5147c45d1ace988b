"""Pages to open: a plain one, and one whose every text is an attack."""

from markupsafe import Markup

from workflow_scripts.render.web.board import Column, Tab, render_board

HOSTILE = "<img src=x onerror=alert(1)>"
ATTACKS = [
    HOSTILE,
    "</script><script>alert(2)</script>",
    "<!--<script>alert(3)",
    '"><svg/onload=alert(4)>',
    "a\u2028b\u2029c",
    "half a pair \udc80",
    "javascript:alert(6)",
    "=1+1",
    "\t=1",
    "@SUM(A1)",
    "＝1",
]
COLUMNS = [
    Column("name", "Model", "name"),
    Column("type", "Type", "choice"),
    Column("average", "Average", "score", help="The mean of the tasks."),
    Column("parameters", "Parameters", "count"),
    Column("licence", "Licence", "choice"),
    Column("commit", "Commit", "commit"),
    Column("note", "Note", "text", shown=False),
    Column("flag", "Flag", "flag", shown=False),
]
NAMES = ["org/Alpha", "org/alpha-2", "org/Beta", "lab/run9", "lab/run10", "lab/Delta"]
LICENCES = ["mit", "apache-2.0", "cc-by-sa-4.0", "llama3", "MIT", None]


def make_plain_page() -> str:
    rows = [
        {
            "name": name,
            "type": ["◆ fine-tuned", "❝ chat"][at % 2],
            "average": None if at == 5 else (at + 1) / 12,
            "average_stderr": 0.0125,
            "parameters": 10 ** (at + 5),
            "licence": licence,
            "commit": f"{at}" * 40,
            "note": "=1+1",
            "flag": "trained on the test" if name == "org/Beta" else None,
            "flag_link": "https://example.org/discussion" if name == "org/Beta" else None,
        }
        for at, (name, licence) in enumerate(zip(NAMES, LICENCES, strict=True))
    ]
    floor = {"name": "Floor", "average": 0.3, "is_baseline": True}
    suite = Tab("suite", "Suite", "Scores.", COLUMNS, [floor, *rows], sort="average")
    runs = Tab("runs", "Prompt runs", "Runs.", COLUMNS[:1], rows[3:5], sort="name")
    return render_board(
        "Leaderboard", "Models.", [suite, runs], {"About": Markup("<h2>About</h2><p>Rules.</p>")}
    )


def make_hostile_page() -> str:
    rows = [
        {
            **dict.fromkeys(("name", "type", "licence", "commit", "note", "flag"), text),
            "average": 0.5,
            "parameters": 1,
            "flag_link": "javascript:alert(7)",
        }
        for text in ATTACKS
    ]
    columns = [Column(c.field, HOSTILE, c.kind, help=HOSTILE) for c in COLUMNS]
    return render_board(
        HOSTILE, HOSTILE, [Tab("suite", HOSTILE, HOSTILE, columns, rows, sort="average")], {}
    )
