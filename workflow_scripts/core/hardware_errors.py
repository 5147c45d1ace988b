"""Distinguish hardware errors (no disk space, no memory, a failing disk, GPU or server) from errors of the work.

A retry may succeed, so a job exits with a hardware error and does not record it as the result of a measurement.
"""

import errno
import os
import re

from workflow_scripts.core.errors import UserError

_ERRNOS = {
    getattr(errno, name)
    for name in (
        *("ENOSPC", "EDQUOT", "EROFS", "EIO", "ESTALE", "ENOTCONN", "ESHUTDOWN", "ETIMEDOUT"),
        *("EMFILE", "ENFILE", "EAGAIN", "ENOMEM"),
    )
}
_OUT_OF_MEMORY = re.compile(
    r"[Cc]an(no|')t allocate memory|std::bad_alloc|(CUDA|HIP) (error: )?out of memory"
    "|CUBLAS_STATUS_ALLOC_FAILED"
)
# Compiled libraries wrap the system's message in their own exceptions. After a CUDA error other than out of memory,
# every later CUDA call of the process fails too.
_FAULT = re.compile(
    "|".join([_OUT_OF_MEMORY.pattern, *map(os.strerror, sorted(_ERRNOS))])
    + r"|can't start new thread|No (CUDA|HIP) GPUs are available|NVIDIA driver|cudaGetDeviceCount"
    r"|CUDA (error|driver|unknown error)|HIP error|CUBLAS_STATUS_|CUDNN_STATUS_|cuDNN error|NCCL error"
)
# PyTorch's exceptions, by name, because this module does not import PyTorch.
_TORCH_TYPES = {"OutOfMemoryError", "AcceleratorError"}


class HardwareError(UserError):
    """An error of a machine or server that this package detected: the job may succeed on another, or later."""

    exit_code = 71  # EX_OSERR of sysexits.h


def is_out_of_memory(error: Exception) -> bool:
    """Return whether memory ran out, so that a smaller batch may fit."""
    is_memory = _OUT_OF_MEMORY.search(str(error)) or type(error).__name__ == "OutOfMemoryError"
    return isinstance(error, RuntimeError) and bool(is_memory)


def describe_hardware_error(error: BaseException | None) -> str | None:
    """Describe the hardware error in an exception or its causes; return None if there is none."""
    while error is not None:
        if (
            isinstance(error, MemoryError | HardwareError)
            or getattr(error, "errno", None) in _ERRNOS
            or type(error).__name__ in _TORCH_TYPES
            or _FAULT.search(str(error))
        ):
            reason = str(error) or type(error).__name__
            return f"{reason} (a fault of this machine). What was finished is kept: run the same command again."
        error = error.__cause__ or error.__context__
    return None
