"""What the run itself was, in sentences: how much was measured, by what, and what is missing."""

from workflow_scripts.paper.numbers import PROSE
from workflow_scripts.paper.studies import tell
from workflow_scripts.render.numbers import Numbers


def is_generated(numbers: Numbers) -> bool:
    """Whether something was measured here, and of the miniature world."""
    return bool(numbers.value("run.records")) and numbers.value("run.source") == "miniature"


def tell_run(numbers: Numbers) -> str:
    return " ".join(tell(PROSE / "run.md.j2", numbers))


def what_is_missing(numbers: Numbers, absent: list[str]) -> list[str]:
    """What a reader might look for and not find, with the reason of each.

    `absent` are the titles of chapters there is nothing for.
    """
    nothing = [f"“{title}”: the config asks for nothing of it." for title in absent]
    return [*nothing, *tell(PROSE / "missing.md.j2", numbers)]
