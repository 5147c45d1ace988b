"""A Markdown table as a terminal can show it: with fewer columns and shorter heads; stdlib only."""

import re

_BETWEEN = re.compile(r"(?<!\\)\|")
_IN_BRACKETS = re.compile(r" \([^)]*\)$")


def narrowed(text: str, left_out: tuple[str, ...]) -> str:
    """Without the columns named, and without what stands in brackets behind a head."""
    lines = text.splitlines()
    at = [number for number, line in enumerate(lines) if line.startswith("|")]
    if len(at) < 2:
        return text
    rows = [[cell.strip() for cell in _BETWEEN.split(lines[number])[1:-1]] for number in at]
    kept = [column for column, head in enumerate(rows[0]) if head not in left_out]
    rows = [[row[column] for column in kept] for row in rows]
    rows[0] = [_IN_BRACKETS.sub("", head) for head in rows[0]]
    right = [cell.endswith(":") for cell in rows[1]]
    widths = [max(len(row[at]) for row in (rows[0], *rows[2:])) for at in range(len(kept))]
    rows[1] = [
        "-" * (width - 1) + ":" if is_right else "-" * width
        for width, is_right in zip(widths, right, strict=True)
    ]
    for number, row in zip(at, rows, strict=True):
        cells = (
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        )
        lines[number] = f"| {' | '.join(cells)} |"
    return "\n".join(lines)
