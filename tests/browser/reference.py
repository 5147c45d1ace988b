"""What the page should show, worked out apart from it: the search's words and the order of a column."""

import re
from functools import cmp_to_key

from workflow_scripts.render.web.board import Row, Tab, Value


def found(tab: Tab, query: str) -> list[Row]:
    """As the search's help says: names and licences parted by `;`, any of each, and both where given."""
    parts = [part.strip() for part in query.split(";")]
    licences = [re.sub(r"^licen[cs]e\s*:", "", p, flags=re.I).strip() for p in parts if _licence(p)]
    names = [part for part in parts if part and not _licence(part)]

    def shows(row: Row) -> bool:
        texts = [str(row.values[f]).lower() for f in tab.search if row.values.get(f) is not None]
        licence = (row.values.get("licence") or "").lower()
        named = any(name.lower() in text for name in names for text in texts)
        licensed = any(word and word.lower() in licence for word in licences)
        return (named or not names) and (licensed or not any(licences))

    return [row for row in tab.rows if shows(row)]


def _licence(part: str) -> bool:
    return bool(re.match(r"licen[cs]e\s*:", part, flags=re.I))


def ordered(rows: list[Row], field: str, *, falling: bool) -> list[Row]:
    """By value, numbers in text by their size; the missing at the end; ties as they stood."""
    present = [row for row in rows if row.values.get(field) not in (None, "")]
    missing = [row for row in rows if row.values.get(field) in (None, "")]
    key = cmp_to_key(lambda a, b: _compare(a.values[field], b.values[field]))
    return sorted(present, key=key, reverse=falling) + missing


def _compare(a: Value, b: Value) -> int:
    if isinstance(a, str) and isinstance(b, str):
        a, b = _key(a), _key(b)
    return (a > b) - (a < b)


def _key(text: str) -> list[tuple]:
    parts = re.findall(r"[0-9]+|[^0-9]+", text.lower())
    # Digits and others side by side are told apart by their first letter, as text is.
    return [(p[0] if not p[0].isdigit() else "0", int(p) if p[0].isdigit() else p) for p in parts]
