"""What is the machine's fault and not the work's: no space, no memory, a disk or a GPU that fails.

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
_MEMORY_OF_GPU, _GPU = "The GPU has no memory left", "The GPU fails"
# What PyTorch raises, by name, for nobody here imports it; older parts of it raise plain RuntimeErrors.
_TYPES = {"OutOfMemoryError": _MEMORY_OF_GPU, "AcceleratorError": _GPU}
_MEMORY = {_MEMORY_OF_GPU, _ERRNOS[errno.ENOMEM]}
# Compiled libraries wrap the system's words into errors of their own. After an error of CUDA that is
# not about memory, every later call of the process fails: the next cells of the job would fail as
# well, whatever their work is. The first words that are found count.
_WORDS = {
    "No space left on device": _ERRNOS[errno.ENOSPC],
    "Disk quota exceeded": _ERRNOS[errno.EDQUOT],
    "File too large": _ERRNOS[errno.EFBIG],
    "Read-only file system": _ERRNOS[errno.EROFS],
    "Input/output error": _ERRNOS[errno.EIO],
    "can't allocate memory": _ERRNOS[errno.ENOMEM],
    "CUDA out of memory": _MEMORY_OF_GPU,
    "CUDA error: out of memory": _MEMORY_OF_GPU,
    "HIP out of memory": _MEMORY_OF_GPU,
    "CUBLAS_STATUS_ALLOC_FAILED": _MEMORY_OF_GPU,
    "CUDA error": _GPU,
    "HIP error": _GPU,
    "CUBLAS_STATUS_": _GPU,
    "CUDNN_STATUS_": _GPU,
    "cuDNN error": _GPU,
    "NCCL error": _GPU,
}


def ran_out(error: Exception) -> bool:
    """Whether memory did, so that less at a time may fit."""
    return isinstance(error, RuntimeError) and _problem(error) in _MEMORY


def machine_problem(error: BaseException | None) -> str | None:
    """One sentence about the machine, where that is what lies behind an error."""
    while error is not None:
        if problem := _problem(error):
            where = f" ({error})" if str(error) else ""
            return f"{problem}{where}. {_REMEDIES.get(problem, _MEND)} What was finished is kept."
        error = error.__cause__ or error.__context__
    return None


_MEND = "Mend that and run the same command again."
_REMEDIES = {
    _ERRNOS[
        errno.ENOMEM
    ]: "A job that is tried again asks for more where the executor can give it.",
    _MEMORY_OF_GPU: (
        "If nothing else runs on it, lower compute.batch_size or a recipe's batch_size, or take a larger"
        " GPU."
    ),
    _GPU: "The job ends here, and a new process tries again.",
}


def _problem(error: BaseException) -> str | None:
    if isinstance(error, MemoryError):
        return _ERRNOS[errno.ENOMEM]
    if isinstance(error, OSError) and error.errno in _ERRNOS:
        return _ERRNOS[error.errno]
    said = next((problem for words, problem in _WORDS.items() if words in str(error)), None)
    if said is None and type(error).__module__.startswith("torch"):
        return _TYPES.get(type(error).__name__)
    return said
