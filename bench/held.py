"""How often what is printed holds: a row for each kind of interval or verdict, beside what is wanted."""

from typing import NamedTuple

import numpy as np

COVERAGE, FALSE = (0.93, 0.97), (0.04, 0.06)


class Held(NamedTuple):
    what: str
    case: str
    shares: tuple[float, ...]
    wanted: tuple[float, float] = COVERAGE
    otherwise: tuple[float, ...] = ()
    """The shares without what the estimator knows: with independent errors, or without clusters."""

    @classmethod
    def of(
        cls, what: str, case: str, pairs: list, wanted: tuple[float, float] = COVERAGE
    ) -> "Held":
        """Of the shares by draw, with what the estimator knows and without, for each size of a case."""
        found, otherwise = np.mean(pairs, axis=1).T
        return cls(what, case, tuple(found), wanted, tuple(otherwise))


def printed(rows: list[Held]) -> str:
    """Markdown, in percent; a star marks what is out of range."""
    lines = ["| what | case | found | wanted | without |", "|---|---|---:|---:|---:|"]
    for row in rows:
        low, high = row.wanted
        found = [f"{x:.1%}{'' if low <= round(x, 3) <= high else '*'}" for x in row.shares]
        ends = f"{low:.0%} to {high:.0%}" if low else f"at most {high:.0%}"
        without = " / ".join(f"{x:.1%}" for x in row.otherwise)
        cells = (row.what, row.case, " / ".join(found), ends, without)
        lines.append(f"| {' | '.join(cells)} |".replace("%", ""))
    return "\n".join(lines)
