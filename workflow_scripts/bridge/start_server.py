"""The process that is ready: it has imported what steps needed before, and forks for each that starts.

Local jobs of a run are many and short, and most of a short one was importing PyTorch and what builds on it. Each
fork is a process of its own, as a step's Python would be: with the same arguments, environment, folder and output,
ended by the same signals. It tells what it has imported, which is imported here for those that follow.
"""

import gc
import importlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workflow_scripts.core.offline import tell_libraries

_THREADS = "OMP_NUM_THREADS"  # libraries read it when they are imported


@dataclass
class _Job:
    """A step that a client asked for: what it is started with, and where a fork tells what it imported."""

    connection: socket.socket
    descriptors: list[int]
    script: str
    folder: str
    environment: dict[str, str]
    imported: int = -1

    @classmethod
    def read(cls, connection: socket.socket) -> "_Job":
        head, descriptors, _, _ = socket.recv_fds(connection, 8, 3)
        with connection.makefile("rb") as file:
            about = json.loads(file.read(int.from_bytes(head, "big")))
        return cls(connection, list(descriptors), **about)

    def say(self, number: int) -> None:
        with suppress(OSError):  # its client was killed
            self.connection.sendall(number.to_bytes(8, "big", signed=True))

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


class Server:
    def __init__(self, listener: socket.socket, lifeline: int):
        self._listener, self._running = listener, dict[int, _Job]()
        self._imported: dict[int, bytes] = {}  # by the pipe that a fork writes it to
        self._names: deque[str] = deque()  # of modules to import
        self._selector = selectors.DefaultSelector()
        self._woken, wake = socket.socketpair()
        wake.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._end)
        signal.set_wakeup_fd(wake.detach(), warn_on_full_buffer=False)
        for source, answer in (
            (listener, self._start),
            (self._woken, self._say_who_ended),
            (lifeline, self._end),
        ):
            self._selector.register(source, selectors.EVENT_READ, answer)

    def serve(self) -> _Job:
        """Fork for each job, and return in the forks. It ends with the Snakemake that holds the lifeline.

        What is to be imported is imported before the next fork, which would import it too; who has ended is
        said at once.
        """
        while True:
            for key, _ in self._selector.select(0 if self._names else None):
                waits = self._names and key.fileobj is self._listener
                if not waits and (job := key.data(key.fd)):
                    return job
            if self._names:
                self._import(self._names.popleft())

    def _start(self, _: int) -> _Job | None:
        connection, _address = self._listener.accept()
        try:
            job = _Job.read(connection)
        except (OSError, ValueError):
            connection.close()
            return None
        if job.environment.get(_THREADS) != os.environ[_THREADS]:
            job.say(0)  # its client starts it as usual
            job.close()
            connection.close()
            return None
        reading, job.imported = os.pipe()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # in the fork, from its first moment
        process = os.fork()
        if process == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._selector.close()
            self._listener.close()
            os.close(reading)
            return job
        signal.signal(signal.SIGTERM, self._end)
        os.close(job.imported)
        job.close()
        job.say(process)
        self._running[process] = job
        self._imported[reading] = b""
        self._selector.register(reading, selectors.EVENT_READ, self._learn)
        return None

    def _end(self, *_: object) -> None:
        shutil.rmtree(Path(self._listener.getsockname()).parent, ignore_errors=True)
        os._exit(0)

    def _say_who_ended(self, _: int) -> None:
        self._woken.recv(4096)
        for process in [*self._running]:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                job = self._running.pop(process)
                job.say(os.waitstatus_to_exitcode(status))
                job.connection.close()

    def _learn(self, pipe: int) -> None:
        if some := os.read(pipe, 65536):
            self._imported[pipe] += some
            return
        self._selector.unregister(pipe)
        os.close(pipe)
        self._names.extend(self._imported.pop(pipe).decode().split())

    def _import(self, name: str) -> None:
        """Something that a fork imported; what it made itself cannot be, and does no harm."""
        if name not in sys.modules:
            with suppress(Exception):
                importlib.import_module(name)
        if not self._names:
            gc.collect()
            gc.freeze()  # or every fork would copy the pages that its own collector visits


def run(job: _Job) -> None:
    """In the fork: as if Python had been started with the script."""
    for number, descriptor in enumerate(job.descriptors):
        os.dup2(descriptor, number)
    job.close()
    os.chdir(job.folder)
    os.environ.clear()
    os.environ.update(job.environment)
    tempfile.tempdir = None  # of the environment that it was asked in
    threading.Thread(target=_end_with_client, args=(job.connection,), daemon=True).start()
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.argv = [job.script]
    known = set(sys.modules)
    runpy.run_path(job.script, run_name="__main__")
    with os.fdopen(job.imported, "w") as file:
        file.write("\n".join(name for name in sys.modules if name not in known))


def _end_with_client(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.recv(1)  # it sends nothing more
    os.kill(os.getpid(), signal.SIGKILL)


def main(address: str, lifeline: str) -> None:
    sys.stdout = sys.stderr  # libraries keep it when they are imported
    tell_libraries()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    server = Server(listener, int(lifeline))
    os.close(1)  # whoever started this waits for it
    os.dup2(2, 1)
    run(server.serve())


if __name__ == "__main__":
    main(*sys.argv[1:])
