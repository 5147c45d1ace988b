"""The one address outside that a job without the network may still reach: that of the server it asks.

A process that is forked while there is the network opens the connections, and hands them in. So the job itself,
with all that it starts, stays in a network that has nothing in it.
"""

import errno
import os
import signal
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

_SECONDS_TO_CONNECT = 30.0


class OneAddress:
    def __init__(self, address: str):
        """Of http or https; its name is looked up now, since nobody can later."""
        parts = urlsplit(address)
        self._host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        self._found: list[Any] = []
        self._why: OSError | None = None
        try:
            self._found = socket.getaddrinfo(self._host, port, type=socket.SOCK_STREAM)
        except OSError as error:  # said by whoever asks for it
            self._why = error
        self._lock = threading.Lock()
        self._ours, theirs = socket.socketpair()
        if os.fork() == 0:
            self._ours.close()
            self._connect_when_asked(theirs)
        theirs.close()

    def let_through(self) -> None:
        """From now on in Python's sockets, whatever else is refused."""
        for name in ("connect", "connect_ex"):
            setattr(socket.socket, name, self._connecting(getattr(socket.socket, name), name))
        look_up = socket.getaddrinfo

        def getaddrinfo(host, *arguments, **named):
            host = host.decode() if isinstance(host, bytes) else host
            if host != self._host:
                return look_up(host, *arguments, **named)
            if self._why:
                raise self._why
            return self._found

        setattr(socket, "getaddrinfo", getaddrinfo)  # noqa: B010  (mypy knows it by another signature)

    def _connecting(self, otherwise, name: str):
        def connect(its_socket, address):
            at = [at for at, one in enumerate(self._found) if one[4][:2] == address[:2]]
            if not at:
                return otherwise(its_socket, address)
            number = self._hand_in(its_socket, at[0])
            if number and name == "connect":
                raise OSError(number, f"{os.strerror(number)}: {address[0]}:{address[1]}")
            return number

        return connect

    def _hand_in(self, its_socket: socket.socket, at: int) -> int:
        """Put a connection in the place of a socket that has none; the number of what went wrong."""
        with self._lock:
            self._ours.sendall(bytes([at]))
            said, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
        if not descriptors:
            return said[0] if said else errno.ECONNREFUSED
        os.dup2(descriptors[0], its_socket.fileno(), inheritable=False)
        os.close(descriptors[0])
        os.set_blocking(its_socket.fileno(), its_socket.gettimeout() is None)
        return 0

    def _connect_when_asked(self, asked: socket.socket) -> None:
        """In the process of its own, which never returns from here and ends with the job."""
        try:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            while at := asked.recv(1):
                family, kind, protocol, _, address = self._found[at[0]]
                try:
                    with socket.socket(family, kind, protocol) as made:
                        made.settimeout(_SECONDS_TO_CONNECT)
                        made.connect(address)
                        socket.send_fds(asked, [b"\0"], [made.fileno()])
                except OSError as error:  # a timeout has no number
                    asked.sendall(bytes([error.errno or errno.ETIMEDOUT]))
        finally:
            os._exit(0)
