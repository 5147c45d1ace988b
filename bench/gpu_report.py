"""The report of the GPU benchmark, in Markdown and in JSON."""

import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.gpu_setting import Setting, Table

_PACKAGES = ("torch", "transformers", "peft", "lm_eval")
Found = Mapping[str, Sequence[Table] | str]  # of each part, its tables or why there are none


def write(setting: Setting, found: Found, markdown: Path) -> None:
    """`markdown`, and beside it the same with the ending .json."""
    today = time.strftime("%Y-%m-%d")
    form = "small form: tiny shapes, to see that it runs" if setting.small else "full form"
    versions = {name: version(name) for name in _PACKAGES}
    lines = [
        f"# GPU benchmark: {setting.name}",
        "",
        f"{today}, {form}; random weights, {str(setting.dtype).removeprefix('torch.')};"
        f" {', '.join(f'{name} {number}' for name, number in versions.items())}, {platform.machine()}.",
    ]
    for part, tables_of in found.items():
        if isinstance(tables_of, str):
            lines += ["", f"## {part}", "", f"Not measured: {tables_of}"]
            continue
        for table in tables_of:
            lines += ["", f"## {table.title}", "", table.note, "", *_rows(table)]
    markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    kept: dict[str, Any] = {
        "device": setting.name,
        "small": setting.small,
        "measured": today,
        "versions": versions,
        "parts": {
            part: one if isinstance(one, str) else [asdict(table) for table in one]
            for part, one in found.items()
        },
    }
    text = json.dumps(kept, indent=2) + "\n"
    markdown.with_suffix(".json").write_text(text, encoding="utf-8")


def _rows(table: Table) -> list[str]:
    shown = [table.columns, *([_cell(value) for value in row] for row in table.rows)]
    lines = ["| " + " | ".join(row) + " |" for row in shown]
    return [lines[0], "|" + "---|" * len(table.columns), *lines[1:]]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    if value == 0 or 0.01 <= abs(value) < 1_000:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.1e}"
