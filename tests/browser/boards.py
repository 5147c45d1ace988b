"""Boards to open: one as a suite makes it, hostile ones, and random ones of any size."""

import random
from itertools import product

from workflow_scripts.studies.suite.about import ICONS, describe_suite

from tests.unit.settings.merged import load
from workflow_scripts.render.web.board import (
    Board,
    BoardItem,
    Column,
    Details,
    Row,
    Tab,
    TextSection,
    TextTab,
    Value,
)
from workflow_scripts.studies.suite.table_requests import suite_about

HOSTILE = "<img src=x onerror=alert(1)>"
ATTACKS = [
    HOSTILE,
    "</script><script>alert(2)</script>",
    "<!--<script>alert(3)",
    '"><svg/onload=alert(4)>',
    "{{constructor.constructor('alert(5)')()}}",
    "&lt;b&gt;not bold&lt;/b&gt;",
    "a\u2028b\u2029c",
    "__proto__",
    "half a pair \udc80",
    "javascript:alert(6)",
]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "=HYPERLINK(\"x\";'y')", " =1", "＝1"]
TASKS = ["ARC", "HellaSwag", "MMLU"]
COLUMNS = [
    Column("name", "Model", "name"),
    Column("average", "Average", "score", help="The mean of the tasks.", digits=2),
    *(Column(task.lower(), task, "score", digits=2) for task in TASKS),
    Column("type", "Type", "choice"),
    Column("precision", "Precision", "choice"),
    Column("parameters", "Parameters", "count", ranged=True),
    Column("licence", "Licence", "text"),
    Column("revision", "Revision", "text", shown=False),
    Column("flag", "Flagged", "flag", shown=False),
]
TYPES = ["pretrained", "fine-tuned", "chat", "merged", "chunked", "continuously pretrained"]
PRECISIONS = ["bfloat16", "float16", "4bit"]
LICENCES = ["mit", "apache-2.0", "cc-by-sa-4.0", "llama3", "MIT", None]
WORDS = [
    "Alpha",
    "beta",
    "Gamma",
    "delta-7b",
    "Epsilon.5",
    "run9",
    "run10",
    "Zeta_2",
    "ÉCLAIR",
    "日本",
]


def board(*tabs: Tab, title: str = "Leaderboard") -> Board:
    return Board(title, "Models on the same tasks.", list(tabs), {"code": "0123abc"})


def tab(rows: list[Row], name: str = "suite", title: str = "Suite") -> Tab:
    about = "Scores in percent, beside their standard error."
    work, search = "@misc{work,\n  title = {{A work}}\n}", ("name", "revision")
    return Tab(name, title, about, COLUMNS, rows, sort="average", rests_on=work, search=search)


def baseline(name: str, **values: Value) -> Row:
    return Row(name, {"name": name} | values, notes=[f"What {name} is."])


def row(at: int, name: str, *, items: int = 1, flag: str | None = None, **values: Value) -> Row:
    scores = {task.lower(): ((at * 7 + k * 13) % 97) / 97 for k, task in enumerate(TASKS)}
    scores |= {f"{task}_stderr": 0.0125 for task in scores}
    given = {
        "name": name,
        "average": sum(scores[task.lower()] for task in TASKS) / len(TASKS),
        **scores,
        "type": TYPES[at % len(TYPES)],
        "precision": PRECISIONS[at % len(PRECISIONS)],
        "parameters": 1_000_000 * (at + 1),
        "licence": LICENCES[at % len(LICENCES)],
        "revision": f"{at:08x}",
    }
    details = Details(
        facts={"submitted by": "somebody", "evaluations took (s)": 12.5},
        tasks=[
            {"task": task, "score": scores[task.lower()], "stderr": 0.0125, "n": 200}
            | {"floor": 0.25, "revision": "abc123", "seconds": 3.25}
            for task in TASKS
        ],
        percents=("score", "stderr", "floor"),
        items=[
            BoardItem(task, right, f"Question {k} of {task}?", "An answer.", "The answer.")
            for task, right, k in product(TASKS, (True, False), range(items))
        ],
    )
    return Row(
        f"row-{at}",
        given | values,
        flag=flag,
        flag_link="https://example.org/discussion" if flag else None,
        notes=["ARC: at the floor"] if at % 5 == 3 else [],
        details=details,
    )


def plain_board() -> Board:
    """What most tests look at: names that a search can tell apart, one flagged row, two tabs."""
    names = [
        "org/Alpha",
        "org/alpha-2",
        "org/Beta",
        "lab/Gamma-run9",
        "lab/gamma-run10",
        "lab/Delta",
    ]
    flags = {2: "trained on the test"}
    rows = [row(at, name, flag=flags.get(at)) for at, name in enumerate(names)]
    other = Tab(
        "runs",
        "Prompt runs",
        "The same questions, asked in different ways.",
        [Column("run", "Run", "name"), Column("p", "p", "number"), Column("n", "n", "count")],
        [
            Row(name, {"run": name, "p": p, "n": n})
            for name, p, n in (("run10", 0.04, 5), ("run9", None, 7))
        ],
        sort="run",
        search=("run",),
    )
    return board(tab(rows), other)


def suite_board() -> Board:
    """Icons of model types, commits, and texts beside the table."""
    columns = [
        Column("name", "Model", "name"),
        Column("type", "Type", "choice", icons=ICONS),
        Column("average", "Average", "score"),
        Column("commit", "Commit", "commit"),
    ]
    rows = [
        row(at, f"org/net-{at}", type=one, commit=f"{at:x}" * 40) for at, one in enumerate(ICONS)
    ]
    rows += [row(len(ICONS), "org/imported", type=None, commit="")]
    suite = Tab("suite", "Suite", "Scores.", columns, rows, sort="name")
    texts = describe_suite(suite_about(load({})))
    return Board("Leaderboard", "Models.", [suite], texts=texts)


def hostile_board() -> Board:
    """Every text that a stranger can write is an attack, or a formula."""
    texts = [*ATTACKS, *FORMULAS]
    rows = [
        Row(
            text,
            {"name": text, "average": 0.5, "type": text, "precision": text, "licence": text}
            | {"parameters": 1, "revision": text},
            flag=text,
            flag_link="javascript:alert(7)",
            notes=[text],
            details=Details(
                facts={text: text, "said": f"{text} "},
                tasks=[{"task": text, text: text}],
                items=[BoardItem(text, False, text, text, text)],
            ),
        )
        for text in texts
    ]
    columns = [*COLUMNS[:2], *(Column(c.field, HOSTILE, c.kind, help=HOSTILE) for c in COLUMNS[5:])]
    hostile = Tab("<b>", HOSTILE, HOSTILE, columns, rows, sort="average", rests_on=HOSTILE)
    text = TextTab(
        "text", HOSTILE, [TextSection(HOSTILE, [HOSTILE], [[HOSTILE], [HOSTILE]], HOSTILE)]
    )
    tabs = [hostile, tab([row(0, "calm")])]
    return Board(HOSTILE, HOSTILE, tabs, {HOSTILE: HOSTILE}, texts=[text])


def random_board(seed: int, size: int, items: int = 0) -> Board:
    draw = random.Random(seed)
    rows = []
    for at in range(size):
        name = f"{draw.choice(WORDS)}/{draw.choice(WORDS)}-{draw.choice(WORDS)}"
        # Rounded, so that there are ties; some cells are missing.
        scores = {
            task.lower(): draw.choice([None, *[round(draw.random(), 2)] * 5]) for task in TASKS
        }
        rows.append(
            row(
                at,
                name + draw.choice(["", f"-v{draw.randrange(30)}"]),
                items=items,
                flag=draw.choice([None, None, None, "copied"]),
                average=draw.choice([None, *[round(draw.random(), 1)] * 6]),
                type=draw.choice([*TYPES, None]),
                precision=draw.choice(PRECISIONS),
                parameters=draw.choice([None, 10 ** draw.randrange(5, 11), draw.randrange(10**10)]),
                licence=draw.choice(LICENCES),
                **scores,
            )
        )
    return board(tab(rows))
