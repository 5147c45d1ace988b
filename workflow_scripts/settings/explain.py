"""What is wrong with the key `explain`, whichever rule is to show what it names."""

from collections.abc import Iterable

from workflow_scripts.settings.sentences import hint, shown
from workflow_scripts.settings.tables import TaskRow


def explain_problems(
    explain: str | None, runs: Iterable[str], tasks: dict[str, TaskRow]
) -> list[str]:
    """What is wrong with it whichever rule is to show it: a prompt run's or a task's."""
    named, _, number = (explain or "").partition("/")
    if not named or named in runs:
        return []
    if named not in tasks:
        return [
            f"explain is {shown(explain)}; expected it to begin with the name of a prompt run or of a"
            f" task{hint(named, [*runs, *tasks])}."
        ]
    if not tasks[named].training:
        trained = ", ".join(name for name, row in tasks.items() if row.training)
        return [
            f"explain is {shown(explain)}, a task without a training split; expected one of {trained}."
        ]
    if number and not number.isdecimal():
        return [
            f"explain is {shown(explain)}; expected a task and the number of a training item, as in"
            f" {named}/3."
        ]
    return []
