"""Faults of the machine are told from those of the work, in the words of whoever met them."""

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

# Real limits of a process, met by Python, and by a library in C++.
LIMITED = """
import mmap, resource, threading
import pyarrow
from workflow_scripts.core.hardware_errors import describe_hardware_error

def met(work):
    try:
        work()
    except Exception as error:
        return describe_hardware_error(error)
    raise SystemExit("it came out")

def start_threads():
    for _ in range(10_000):
        threading.Thread(target=threading.Event().wait, daemon=True).start()

now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 200_000_000, now + 200_000_000))
print(met(lambda: mmap.mmap(-1, 10**10)))
print(met(lambda: pyarrow.allocate_buffer(10**10)))
print(met(start_threads))
"""


def test_real_limits():
    lines = python(LIMITED).splitlines()
    assert len(lines) == 3 and all("a fault of this machine" in line for line in lines)


def make_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


MACHINE = {
    "no card": RuntimeError("No CUDA GPUs are available"),
    "no driver": RuntimeError("Found no NVIDIA driver on your system. Please check that you have"),
    "card": RuntimeError("CUDA error: uncorrectable ECC error encountered"),
    "card's memory": RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    "mount, as Rust says it": RuntimeError(
        'Os { code: 107, kind: NotConnected, message: "Transport endpoint is not connected" }'
    ),
    "memory": RuntimeError("unable to mmap 100 bytes: Cannot allocate memory (12)"),
    "ours": HardwareError("PyTorch sees no GPU."),
    **{name: make_error(getattr(errno, name)) for name in ("EIO", "ENOSPC", "EMFILE")},
}
WORK = {
    "missing": make_error(errno.ENOENT),
    "missing, as safetensors says it": FileNotFoundError("No such file or directory: /no/such"),
    "wrong": UserError("The metric 'acc' is nan."),
    "a defect": RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
}
CASES = [
    *((error, True) for error in MACHINE.values()),
    *((error, False) for error in WORK.values()),
]


@pytest.mark.parametrize(("error", "is_machines"), CASES, ids=[*MACHINE, *WORK])
def test_describe_machine_fault(error, is_machines):
    wrapped = UserError(f"The model cannot be loaded: {error}")
    wrapped.__cause__ = error
    for one in (error, wrapped):
        assert bool(describe_hardware_error(one)) == is_machines


def test_is_out_of_memory():
    memory = [name for name, error in MACHINE.items() if is_out_of_memory(error)]
    assert memory == ["card's memory", "memory"]
