"""The error that is meant for the person at the keyboard."""

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN = 40  # a file that is wrong throughout has a problem in every line


class UserError(Exception):
    """A problem the user can mend: one readable sentence per problem, shown without a traceback."""

    exit_code = 1

    def __init__(self, problems: str | Iterable[str]):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        lines = self.problems[:_SHOWN]
        if len(self.problems) > _SHOWN:
            lines.append(f"And {len(self.problems) - _SHOWN} more.")
        super().__init__("\n".join(lines))


class Interrupted(UserError):
    """Asked to end, and ended with everything saved: the same command resumes from there."""

    exit_code = 75  # EX_TEMPFAIL of sysexits.h: try again later


class Unreachable(UserError):
    """Nobody answered, so nothing is known of what was asked for: the same command asks again."""


def format_suggestion(word: str, choices: Iterable[str]) -> str:
    """Say ' Did you mean ...?' with the nearest known name, or nothing when none is near."""
    names = {str(name).lower(): str(name) for name in reversed(list(choices))}
    near = get_close_matches(str(word).lower(), names, n=1, cutoff=0.6)
    return f" Did you mean {names[near[0]]!r}?" if near else ""
