"""What is the machine's fault and not the work's: no space, no memory, a disk that fails.

Tried again, elsewhere or with more, the same work may well come out; so a job ends with these, whatever
part of it they hit, and does not put them down as the outcome of a measurement.
"""

import errno

_ERRNOS = {
    errno.ENOSPC: "The disk is full",
    errno.EDQUOT: "Your quota on this disk is used up",
    errno.EFBIG: "A file may not grow any more (see `ulimit -f`)",
    errno.EROFS: "The disk may not be written to",
    errno.EIO: "The disk fails",
    errno.ESTALE: "The shared disk has lost a file that was open",
    errno.ENOMEM: "There is no memory left",
}
# Compiled libraries wrap the system's words into errors of their own.
_WORDS = {
    "No space left on device": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "File too large": errno.EFBIG,
    "Read-only file system": errno.EROFS,
    "Input/output error": errno.EIO,
    "can't allocate memory": errno.ENOMEM,
}


def machine_problem(error: BaseException | None) -> str | None:
    """One sentence about the machine, where that is what lies behind an error."""
    while error is not None:
        if isinstance(error, MemoryError):
            return _sentence(errno.ENOMEM, error)
        if isinstance(error, OSError) and error.errno in _ERRNOS:
            return _sentence(error.errno, error)
        for words, number in _WORDS.items():
            if words in str(error):
                return _sentence(number, error)
        error = error.__cause__ or error.__context__
    return None


def _sentence(number: int, error: BaseException) -> str:
    where = f" ({error})" if str(error) else ""
    remedy = (
        "A job that is tried again asks for more where the executor can give it."
        if number == errno.ENOMEM
        else "Mend that and run the same command again."
    )
    return f"{_ERRNOS[number]}{where}. {remedy} What was finished is kept."
