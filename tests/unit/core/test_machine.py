"""What the machine is to blame for is told from what the work is, in the words of whoever met it."""

import errno
import os

import pytest

from tests.processes import python
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.machine import MachineFault, is_better_elsewhere, machine_problem

# Real limits of a process, met by Python, by a library in Rust and by one in C++.
LIMITED = """
import mmap, resource, sys, threading
import pyarrow
from safetensors import safe_open
from safetensors.numpy import save_file
import numpy
from workflow_scripts.core.machine import is_better_elsewhere, machine_problem

path = sys.argv[1]
save_file({"a": numpy.zeros(3)}, path)

def met(work):
    try:
        work()
    except Exception as error:
        return machine_problem(error), is_better_elsewhere(error)
    raise SystemExit("it came out")

threads = lambda: [threading.Thread(target=threading.Event().wait, daemon=True).start() for _ in range(10_000)]
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
hoard = []
try:
    while True:
        hoard.append(open(path))
except OSError as error:
    told = [(machine_problem(error), is_better_elsewhere(error))]
told.append(met(lambda: safe_open(path, "numpy")))
hoard.clear()
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 200_000_000, now + 200_000_000))
told += [met(lambda: mmap.mmap(-1, 10**10)), met(lambda: pyarrow.allocate_buffer(10**10)), met(threads)]
for problem, elsewhere in told:
    print(elsewhere, problem)
"""


def test_limits_of_files_memory_and_threads_as_they_are_really_met(tmp_path):
    told = python(LIMITED, tmp_path / "a.safetensors").splitlines()
    words = [
        "No more files",
        "No more files",
        "no memory left",
        "no memory left",
        "No more threads",
    ]
    assert len(told) == len(words)
    for line, expected in zip(told, words, strict=True):
        assert expected in line
        # Who wants more memory asks for more; limits are a machine's own.
        assert line.startswith(str("memory" not in expected))


ELSEWHERE = {
    "no card": RuntimeError("No CUDA GPUs are available"),
    "no driver": RuntimeError("Found no NVIDIA driver on your system. Please check that you have"),
    "driver": RuntimeError("CUDA driver initialization failed, you might not have a CUDA gpu."),
    "card": RuntimeError("CUDA error: uncorrectable ECC error encountered"),
    "disk": OSError(errno.EIO, os.strerror(errno.EIO)),
    "mount": OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN)),
    "eviction": OSError(errno.ESHUTDOWN, os.strerror(errno.ESHUTDOWN)),
    "no answer": OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT)),
    "mount, as Rust says it": RuntimeError(
        'Os { code: 107, kind: NotConnected, message: "Transport endpoint is not connected" }'
    ),
    "ours": MachineFault("PyTorch sees no GPU."),
}
ANYWHERE = {
    "full": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "memory": RuntimeError("unable to mmap 100 bytes: Cannot allocate memory (12)"),
    "card's memory": RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB."),
}
THE_WORKS = {
    "missing": OSError(errno.ENOENT, os.strerror(errno.ENOENT)),
    "missing, as safetensors says it": FileNotFoundError("No such file or directory: /no/such"),
    "wrong": UserError("The metric 'acc' is nan."),
    "a defect": RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
}


@pytest.mark.parametrize(
    ("errors", "is_machines", "elsewhere"),
    [(ELSEWHERE, True, True), (ANYWHERE, True, False), (THE_WORKS, False, False)],
    ids=["of this machine", "of any", "of the work"],
)
def test_whose_fault_it_is_and_whether_another_machine_may_do(errors, is_machines, elsewhere):
    for name, error in errors.items():
        wrapped = UserError(f"The model cannot be loaded: {error}")
        wrapped.__cause__ = error
        for one in (error, wrapped):
            assert bool(machine_problem(one)) == is_machines, name
            assert is_better_elsewhere(one) == elsewhere, name
