"""What of Snakemake's messages the terminal shows; its log in .snakemake/log keeps them all."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from workflow_scripts.core.clean_text import plain_lines

_LOGGER = "snakemake.logging"  # Snakemake's own, which shows and keeps what is said by it


def say(sentence: str) -> None:
    logging.getLogger(_LOGGER).info(plain_lines(sentence))


def say_error(sentence: str) -> None:
    logging.getLogger(_LOGGER).error(plain_lines(sentence))


def show_if(workflow, is_shown: Callable[[logging.LogRecord], bool]) -> None:
    """From now on; asked where and when something is logged, and not when it is shown."""
    for handler in _of_terminal(workflow):
        handler.addFilter(is_shown)


@contextmanager
def nothing_said() -> Iterator[None]:
    """Not even to the log."""
    logger = logging.getLogger(_LOGGER)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def show_no_more_errors(workflow) -> None:
    show_if(workflow, lambda record: record.levelno < logging.ERROR)


def close_terminal(workflow) -> None:
    """Before an end that nothing follows: all that was said is shown, and the cursor is there again."""
    with suppress(Exception):  # whatever a plugin does, we end
        workflow.logger_manager.stop()


def _of_terminal(workflow) -> list[logging.Handler]:
    manager = workflow.logger_manager
    return [one for one in manager.logger.handlers if one not in manager.logfile_handlers]
