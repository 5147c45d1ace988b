"""The seconds of a job by what they go to: each kind is wrong by a factor of its own, which jobs that are
done tell (planning/measured.py).
"""

from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True)
class Spent:
    starting: float = 0.0  # Python, PyTorch, a harness
    loading: float = 0.0  # weights, from the hub folder
    handling: float = 0.0  # items: tokenising, requests, scoring, writing
    reading: float = 0.0
    training: float = 0.0
    generating: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        ours, theirs = asdict(self), asdict(other)
        return Spent(**{part: ours[part] + theirs[part] for part in ours})

    def times(self, factor: float) -> "Spent":
        return Spent(**{part: factor * seconds for part, seconds in asdict(self).items()})

    @property
    def seconds(self) -> float:
        return sum(asdict(self).values())

    @property
    def parts(self) -> dict[str, float]:
        """All but starting, which is what is left of the whole."""
        return {part: value for part, value in asdict(self).items() if value and part != "starting"}


PARTS = tuple(field.name for field in fields(Spent))
