"""The table of all published numbers beside ours, and its shorter form for reading."""

import pandas as pd

from workflow_scripts.paper.protocols.verdicts import with_other_protocols
from workflow_scripts.paper.requests import Reproduction
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import Table, read_table
from workflow_scripts.render.text import number, with_errors
from workflow_scripts.render.verdict import (
    BY_LUCK,
    COLUMNS,
    LIMIT,
    NOT_COMPARABLE,
    as_table,
    with_margins,
)
from workflow_scripts.scores.published_protocols import read_protocols
from workflow_scripts.studies.harmony.published import compare_cells, compare_harmony
from workflow_scripts.studies.mmlu.published import compare_mmlu
from workflow_scripts.studies.prompts.published import compare_prompts
from workflow_scripts.studies.ranking.errors import estimate_reruns

NOTE = (
    "Each published number beside ours, as a fraction. z: the difference over its standard error; below"
    f" {LIMIT:.0f} either way nothing was shown to differ, and of numbers without any difference at most"
    f" {BY_LUCK:.0%} lie beyond by luck. Of what was not shown to differ, that agrees which surely (90%) lies"
    " within a margin set beforehand, {scores:g} points for scores and {ranks} ranks; the rest is"
    " inconclusive. Would show: the smallest difference that would have been shown four times in"
    " five. After training on a task the error is what the authors' own two"
    " releases differ by on that task (table reproduction_by_task). Elsewhere it counts the sampling of"
    " questions in both runs; they were asked the same ones, so that z is smaller than this test expects."
    " Where no standard error was printed and none follows from what was, ours stands for both. A rank"
    " differs where it lies outside of our interval. What was measured by another protocol than"
    " the published one has a difference, and what is other"
    " about it in place of a verdict (table protocol_differences). What cannot be compared has no"
    " difference. Numbers that were"
    " not measured here, for one reason, share a line; the CSV has each."
)


def reproduced(inputs: Inputs, request: Reproduction) -> pd.DataFrame:
    """A row a published number; a table of ours that the config has not is not among the inputs."""
    theirs = {path.stem: pd.read_csv(path) for path in inputs["published"]}
    leaderboard, runs = theirs.pop("harmony_leaderboard"), theirs.pop("prompt_runs")
    cells = theirs.pop("harmony_cells")
    reruns = estimate_reruns(leaderboard, cells, request.harmony.models)
    ours = {
        name: read_table(inputs.one(name))
        for name in ("mmlu_by_subject", "prompt_runs", "harmony_leaderboard")
        if inputs.get(name)
    }
    rows = [
        *compare_mmlu(theirs, ours.get("mmlu_by_subject"), request.mmlu),
        *compare_prompts(runs, ours.get("prompt_runs"), request.prompts),
        *compare_harmony(leaderboard, ours.get("harmony_leaderboard"), request.harmony, reruns),
        *compare_cells(cells, ours.get("harmony_leaderboard"), request.harmony, reruns),
    ]
    table = with_other_protocols(
        as_table(rows),
        read_table(inputs.one("protocol_differences")),
        read_protocols(inputs.one("protocols")),
    )
    margins = table["metric"].eq("rank").map({True: request.margins.ranks})
    return with_margins(table, margins.fillna(request.margins.scores))


def _show(table: pd.DataFrame, _: Reproduction) -> pd.DataFrame:
    absent = table["ours"].isna() & (table["verdict"] == NOT_COMPARABLE)
    lines = [_line(row) for row in table[~absent].to_dict("records")]
    for (source, because), rows in table[absent].groupby(["source", "because"], sort=False):
        lines.append(
            {
                "Published in": source,
                "Of": f"{rows['of'].nunique()} models" if rows["of"].nunique() > 1 else None,
                "What": f"{len(rows):,} numbers",
                "Verdict": f"{NOT_COMPARABLE}: {because}",
            }
        )
    columns = ["Published in", "Of", "What", "Published", "Ours", "Difference", "z"]
    columns += ["Would show", "Verdict"]
    return pd.DataFrame(lines, columns=columns)


def _line(row: dict) -> dict:
    whole = row["metric"] in ("rank", "pc1")
    because = f": {row['because']}" if isinstance(row["because"], str) else ""
    return {
        "Published in": row["source"],
        "Of": row["of"],
        "What": f"{row['item'].replace('_', ' ')}, {row['metric']}",
        "Published": _score(row["published"], row["published_stderr"], whole),
        "Ours": _score(row["ours"], row["ours_stderr"], whole),
        "Difference": number(row["difference"], "+.3f"),
        "z": number(row["z"], "+.1f"),
        "Would show": number(row["smallest"], ".3f"),
        "Verdict": row["verdict"] + because,
    }


def _score(value: float, stderr: float | None, whole: bool) -> str | None:
    return number(value, "g") if whole else with_errors([value], [stderr])[0]


TABLE = Table(
    name="reproduction",
    title="Reproduction of published numbers",
    note=lambda _, request: NOTE.format(
        scores=100 * request.margins.scores, ranks=request.margins.ranks
    ),
    columns=COLUMNS,
    asks=Reproduction,
    make=reproduced,
    show=_show,
)
