"""Define the errors that are shown to the user without a traceback."""

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN = 40  # a wrong file may have a problem in every line


class UserError(Exception):
    """An error that the user can fix: one sentence per problem, shown without a traceback."""

    exit_code = 1

    def __init__(self, problems: str | Iterable[str]):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        lines = self.problems[:_SHOWN]
        if len(self.problems) > _SHOWN:
            lines.append(f"And {len(self.problems) - _SHOWN} more.")
        super().__init__("\n".join(lines))


class Interrupted(UserError):
    """The job was interrupted by a signal after saving its state: the same command resumes."""

    exit_code = 75  # EX_TEMPFAIL of sysexits.h: try again later


def format_suggestion(word: str, choices: Iterable[str]) -> str:
    """Return " Did you mean ...?" with the most similar choice, or an empty text if none is similar."""
    names = {str(name).lower(): str(name) for name in reversed(list(choices))}
    near = get_close_matches(word.lower(), names, n=1)
    return f" Did you mean {names[near[0]]!r}?" if near else ""
