"""Takes the place of a step's Python: has the process that is ready fork for it, and ends as the fork ends.

Imports as little as it can, because it is what starting a job costs. Where nobody is ready it becomes the step's
Python itself. If it is killed, its connection closes, on which the fork ends.
"""

import json
import os
import signal
import socket
import sys


def main(address: str, script: str) -> None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(address)
        about = {"script": script, "folder": os.path.realpath("."), "environment": dict(os.environ)}
        told = json.dumps(about).encode()
        socket.send_fds(connection, [len(told).to_bytes(8, "big")], [0, 1, 2])
        connection.sendall(told)
        process = _number(connection)
    except (OSError, EOFError):
        process = 0
    if not process:
        os.execv(sys.executable, [sys.executable, script])
    signal.signal(signal.SIGTERM, lambda number, _frame: os.kill(process, number))
    try:
        code = _number(connection)
    except (OSError, EOFError):  # whoever would have said it is gone
        code = 1
    if code < 0:
        if -code != signal.SIGKILL:  # which nobody may answer
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def _number(connection: socket.socket) -> int:
    read = b""
    while len(read) < 8:
        some = connection.recv(8 - len(read))
        if not some:
            raise EOFError
        read += some
    return int.from_bytes(read, "big", signed=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
