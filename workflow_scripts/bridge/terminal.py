"""What of Snakemake's messages the terminal shows; its log in .snakemake/log keeps them all."""

import logging
from contextlib import suppress

_LOGGER = "snakemake.logging"  # Snakemake's own, which shows and keeps what is said by it


def say(sentence: str) -> None:
    logging.getLogger(_LOGGER).info(sentence)


def show_no_more_errors(workflow) -> None:
    for handler in _of_terminal(workflow):
        handler.addFilter(_is_no_error)


def close_terminal(workflow) -> None:
    """Before an end that nothing follows: all that was said is shown, and the cursor is there again."""
    with suppress(Exception):  # whatever a plugin does, we end
        workflow.logger_manager.stop()


def _of_terminal(workflow) -> list[logging.Handler]:
    manager = workflow.logger_manager
    return [one for one in manager.logger.handlers if one not in manager.logfile_handlers]


def _is_no_error(record: logging.LogRecord) -> bool:
    return record.levelno < logging.ERROR
