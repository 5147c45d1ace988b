"""The table of all published numbers, and its shorter form for reading."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.tables import write_table
from workflow_scripts.render.verdict import BY_LUCK, LIMIT, NOT_COMPARABLE

TITLE = "Reproduction of published numbers"
NOTE = (
    "Each published number beside ours, as a fraction. z: the difference over the standard error of the"
    f" two runs together; below {LIMIT:.0f} either way the numbers agree, and of numbers without any"
    f" difference {BY_LUCK:.1%} lie beyond by luck. Both runs were asked the same questions, so a z of"
    " the same model is smaller than this test expects. Where no standard error was printed and none"
    " follows from what was, ours stands for both. A rank agrees where it lies in our interval. What"
    " cannot be compared has no difference. Numbers that were not measured here, for one reason, share"
    " a line; the CSV has each."
)


def write_reproduction_table(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=_show)


def _show(table: pd.DataFrame) -> pd.DataFrame:
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
    columns = ["Published in", "Of", "What", "Published", "Ours", "Difference", "z", "Verdict"]
    return pd.DataFrame(lines, columns=columns)


def _line(row: dict) -> dict:
    whole = row["metric"] in ("rank", "pc1")
    because = f": {row['because']}" if isinstance(row["because"], str) else ""
    return {
        "Published in": row["source"],
        "Of": row["of"],
        "What": f"{row['item'].replace('_', ' ')}, {row['metric']}",
        "Published": _number(row["published"], None if whole else row["published_stderr"], whole),
        "Ours": _number(row["ours"], None if whole else row["ours_stderr"], whole),
        "Difference": _signed(row["difference"], "+.3f"),
        "z": _signed(row["z"], "+.1f"),
        "Verdict": row["verdict"] + because,
    }


def _number(value: float, stderr: float | None, whole: bool) -> str:
    if whole:
        return f"{value:g}".replace("-", "−")
    return f"{value:.3f}" + ("" if pd.isna(stderr) else f" ± {stderr:.3f}")


def _signed(value: float | None, spec: str) -> str | None:
    return None if pd.isna(value) else format(value, spec).replace("-", "−").replace("inf", "∞")
