"""Several works of one job, one after the other."""

from collections.abc import Callable, Iterable
from typing import Any

from workflow_scripts.core.errors import Interrupted


def in_turn(works: Iterable[tuple[object, Callable[[], Any]]]) -> None:
    """Do each, by its name: one that fails leaves the others to be done, and the first error is the job's.

    A job that is asked to leave leaves at once.
    """
    failed: list[Exception] = []
    for name, work in works:
        try:
            work()
        except Interrupted:
            raise
        except Exception as error:
            print(f"{name} failed: {error}", flush=True)
            failed.append(error)
    if failed:
        raise failed[0]
