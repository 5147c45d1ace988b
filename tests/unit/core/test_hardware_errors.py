"""Test that hardware errors are distinguished from errors of the job, by exception type and message."""

import errno
import os

import pytest

from tests.processes import python
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.hardware_errors import (
    HardwareError,
    describe_hardware_error,
    is_out_of_memory,
)

# Exceed a real memory limit of the process, in Python and in a C++ library.
LIMITED = """
import mmap, resource
import pyarrow
from workflow_scripts.core.hardware_errors import describe_hardware_error
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 200_000_000, now + 200_000_000))
for work in (lambda: mmap.mmap(-1, 10**10), lambda: pyarrow.allocate_buffer(10**10)):
    try:
        work()
    except Exception as error:
        print(describe_hardware_error(error))
"""


def test_real_limits():
    lines = python(LIMITED).splitlines()
    assert len(lines) == 2 and all("a fault of this machine" in line for line in lines)


HARDWARE_ERRORS = [
    RuntimeError("No CUDA GPUs are available"),
    RuntimeError("CUDA error: uncorrectable ECC error encountered"),
    RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    RuntimeError('Os { code: 107, message: "Transport endpoint is not connected" }'),  # Rust
    RuntimeError("unable to mmap 100 bytes: Cannot allocate memory (12)"),
    HardwareError("PyTorch sees no GPU."),
    *(OSError(number, os.strerror(number)) for number in (errno.EIO, errno.ENOSPC, errno.EMFILE)),
]
OTHER_ERRORS = [
    FileNotFoundError("No such file or directory: /no/such"),  # safetensors
    UserError("The metric 'acc' is nan."),
    RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
]


@pytest.mark.parametrize("error", [*HARDWARE_ERRORS, *OTHER_ERRORS], ids=str)
def test_describe_hardware_error(error):
    user_error = UserError(f"The model cannot be loaded: {error}")
    user_error.__cause__ = error
    assert bool(describe_hardware_error(error)) == (error in HARDWARE_ERRORS)
    assert bool(describe_hardware_error(user_error)) == (error in HARDWARE_ERRORS)
    assert is_out_of_memory(error) == ("memory" in str(error))
