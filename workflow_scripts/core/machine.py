"""What is the machine's fault and not the work's: no space, no memory, a disk or a GPU that fails.

Tried again, elsewhere or with more, the same work may well come out; so a job ends with these, whatever
part of it they hit, and does not put them down as the outcome of a measurement.
"""

import errno
from pathlib import Path

from workflow_scripts.core.errors import UserError

_LOST_FILES = "The connection to a shared disk is lost"
_FILES = "No more files can be opened (see `ulimit -n`)"
_THREADS = "No more threads or processes can be started (see `ulimit -u`)"
_NO_MEMORY = "There is no memory left"
_ERRNOS = {
    errno.ENOSPC: "The disk is full",
    errno.EDQUOT: "Your quota on this disk is used up",
    errno.EFBIG: "A file may not grow any more (see `ulimit -f`)",
    errno.EROFS: "The disk may not be written to",
    errno.EIO: "The disk fails",
    errno.ESTALE: "The shared disk has lost a file that was open",
    errno.ENOTCONN: _LOST_FILES,
    errno.ESHUTDOWN: _LOST_FILES,
    errno.ETIMEDOUT: "A shared disk, or another machine, does not answer",
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.EAGAIN: _THREADS,
    errno.ENOMEM: _NO_MEMORY,
}
_MEMORY_OF_GPU, _GPU = "The GPU has no memory left", "The GPU fails"
_UNSEEN, _OWN_FAULT = "No GPU is seen", "This machine fails"
_NO_SERVER = "The server does not answer"
# What PyTorch raises, by name, for nobody here imports it; older parts of it raise plain RuntimeErrors.
_TYPES = {"OutOfMemoryError": _MEMORY_OF_GPU, "AcceleratorError": _GPU}
_MEMORY = {_MEMORY_OF_GPU, _NO_MEMORY}
# Compiled libraries wrap the system's words into errors of their own. After an error of CUDA that is
# not about memory, every later call of the process fails: the next cells of the job would fail as
# well, whatever their work is. The first words that are found count.
_WORDS = {
    "No space left on device": _ERRNOS[errno.ENOSPC],
    "Disk quota exceeded": _ERRNOS[errno.EDQUOT],
    "File too large": _ERRNOS[errno.EFBIG],
    "Read-only file system": _ERRNOS[errno.EROFS],
    "Input/output error": _ERRNOS[errno.EIO],
    "Stale file handle": _ERRNOS[errno.ESTALE],
    "Transport endpoint is not connected": _LOST_FILES,
    "Cannot send after transport endpoint shutdown": _LOST_FILES,
    "Connection timed out": _ERRNOS[errno.ETIMEDOUT],
    "Too many open files": _FILES,
    "can't start new thread": _THREADS,
    "Resource temporarily unavailable": _THREADS,
    "can't allocate memory": _NO_MEMORY,
    "Cannot allocate memory": _NO_MEMORY,
    "std::bad_alloc": _NO_MEMORY,
    "CUDA out of memory": _MEMORY_OF_GPU,
    "CUDA error: out of memory": _MEMORY_OF_GPU,
    "HIP out of memory": _MEMORY_OF_GPU,
    "CUBLAS_STATUS_ALLOC_FAILED": _MEMORY_OF_GPU,
    "No CUDA GPUs are available": _UNSEEN,
    "No HIP GPUs are available": _UNSEEN,
    "no NVIDIA driver": _UNSEEN,
    "NVIDIA driver on your system is too old": _UNSEEN,
    "cudaGetDeviceCount": _UNSEEN,
    "CUDA error": _GPU,
    "CUDA driver": _GPU,
    "CUDA unknown error": _GPU,
    "HIP error": _GPU,
    "CUBLAS_STATUS_": _GPU,
    "CUDNN_STATUS_": _GPU,
    "cuDNN error": _GPU,
    "NCCL error": _GPU,
}
# Whoever tries again does better on another machine; all else is the same everywhere, or for want of more.
_OF_ONE_MACHINE = {
    _OWN_FAULT,
    _UNSEEN,
    _GPU,
    _FILES,
    _THREADS,
    *(_ERRNOS[number] for number in (errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ETIMEDOUT)),
}


class MachineFault(UserError):
    """Found by us, and said in a sentence: the work may come out on another machine."""

    exit_code = 71  # EX_OSERR of sysexits.h


class ServerAway(UserError):
    """What a server was asked has no answer: no fault of the work, and the same on every machine."""


def ran_out(error: Exception) -> bool:
    """Whether memory did, so that less at a time may fit."""
    return isinstance(error, RuntimeError) and _problem(error) in _MEMORY


def machine_problem(error: BaseException | None) -> str | None:
    """One sentence about the machine, where that is what lies behind an error."""
    if (found := _found(error)) is None:
        return None
    problem, behind = found
    where = f" ({behind})" if str(behind) else ""
    return f"{problem}{where}. {_REMEDIES.get(problem, _MEND)} What was finished is kept."


def is_better_elsewhere(error: BaseException | None) -> bool:
    """Whether it is the fault of this one machine, so that the work is to be tried on another."""
    found = _found(error)
    return found is not None and found[0] in _OF_ONE_MACHINE


_MEND = "Mend that and run the same command again."
_REMEDIES = {
    _NO_MEMORY: "A job that is tried again asks for more where the executor can give it.",
    _MEMORY_OF_GPU: (
        "If nothing else runs on it, lower compute.batch_size or a recipe's batch_size, or take a larger"
        " GPU."
    ),
    _GPU: "The job ends here, and a new process tries again.",
}


def _found(error: BaseException | None) -> tuple[str, BaseException] | None:
    """The problem, and the error that tells of it: this one or what lies behind it."""
    while error is not None:
        if problem := _problem(error):
            return problem, error
        error = error.__cause__ or error.__context__
    return None


def _problem(error: BaseException) -> str | None:
    if isinstance(error, MemoryError):
        return _NO_MEMORY
    if isinstance(error, MachineFault):
        return _OWN_FAULT
    if isinstance(error, ServerAway):
        return _NO_SERVER
    if isinstance(error, FileNotFoundError) and error.errno is None:
        error = _as_opened(error)
    if isinstance(error, OSError) and error.errno in _ERRNOS:
        return _ERRNOS[error.errno]
    said = next((problem for words, problem in _WORDS.items() if words in str(error)), None)
    if said is None and type(error).__module__.startswith("torch"):
        return _TYPES.get(type(error).__name__)
    return said


def _as_opened(error: FileNotFoundError) -> OSError:
    """safetensors says of each file that it cannot open that there is none; Python says why."""
    path = Path(str(error).rpartition("directory: ")[2])
    try:
        with path.open("rb"):
            return OSError(errno.EMFILE, f"{path} is there, and could not be opened")
    except OSError as found:
        return found
