"""A hub on this machine: as much of the protocol as a client needs to fetch, with faults on demand.

Like the real one it answers for a large file (LFS) with a redirect to a second server, the CDN,
which knows nothing of accounts.
"""

import hashlib
import json
import os
import random
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

LARGE = (".safetensors", ".parquet")


@dataclass
class Repository:
    commits: dict[str, dict[str, bytes]]  # newest last; the default branch is at the newest
    tags: dict[str, str] = field(default_factory=dict)
    card: dict | None = None
    gated: bool = False

    def resolve(self, revision: str) -> str | None:
        commit = self.tags.get(revision, revision)
        if revision == "main":
            commit = list(self.commits)[-1]
        return commit if commit in self.commits else None


@dataclass
class Fault:
    """What goes wrong with the next `times` requests whose path holds `on`."""

    on: str
    times: int = 1
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut_after: int | None = None  # the connection ends after so many bytes
    reset_after: int | None = None  # it is torn down with a TCP reset
    stall_after: int | None = None  # nothing more comes, but it stays open
    altered: Callable[[bytes], bytes] | None = None


@dataclass
class Request:
    at: float
    server: str
    method: str
    path: str
    start: int  # where the range began
    end: int  # and its last byte, far behind all where none was named
    authorization: str | None
    sent: int = 0


class FakeHub:
    def __init__(self):
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> "FakeHub":
        self._servers = [self._start("hub"), self._start("cdn")]
        self.url, self.cdn_url = (f"http://127.0.0.1:{s.server_port}" for s in self._servers)
        return self

    def __exit__(self, *_) -> None:
        self.closing.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def add(self, kind: str, name: str, commits: Iterable[dict[str, bytes]], **about) -> list[str]:
        """Add a repository with these commits, oldest first; give their hashes."""
        hashed = {hashlib.sha1(repr(files).encode()).hexdigest(): files for files in commits}
        self.repositories[kind, name] = Repository(hashed, **about)
        return list(hashed)

    def asked(self, part: str, server: str | None = None) -> list[Request]:
        """The requests so far whose path holds `part`."""
        return [r for r in self.requests if part in r.path and server in (None, r.server)]

    def sent(self, part: str = "") -> int:
        return sum(request.sent for request in self.asked(part, "cdn"))

    def take_fault(self, path: str) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if fault.on in path and fault.times > 0:
                    fault.times -= 1
                    return fault
        return None

    def _start(self, role: str) -> ThreadingHTTPServer:
        handler = type("Handler", (_Handler,), {"hub": self, "role": role})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        # Handlers of connections that were cut on purpose end in errors of their own.
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are sent apart; the body must not wait
    hub: FakeHub
    role: str

    def log_message(self, *_) -> None:
        pass

    def do_GET(self) -> None:
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        self.request_seen = Request(
            at=time.monotonic(),
            server=self.role,
            method=self.command,
            path=unquote(urlsplit(self.path).path),
            start=int(first),
            end=int(last or sys.maxsize),
            authorization=self.headers.get("Authorization"),
        )
        self.hub.requests.append(self.request_seen)
        path = self.request_seen.path
        # A fault in the body of a large file belongs to the CDN; a refusal to the hub.
        self.fault = None if self._will_redirect(path) else self.hub.take_fault(path)
        if self.fault and self.fault.status:
            self._reply(self.fault.status, self.fault.body, self.fault.headers)
        elif path.startswith("/api/"):
            self._api(path.removeprefix("/api/"))
        elif "/resolve/" in path:
            self._resolve(path.removeprefix("/"))
        else:
            self._refuse(404, "EntryNotFound", "Entry not found")

    do_HEAD = do_GET

    def _will_redirect(self, path: str) -> bool:
        if self.role == "cdn" or not path.endswith(LARGE):
            return False
        return not any(f.status for f in self.hub.faults if f.on in path and f.times > 0)

    def _api(self, path: str) -> None:
        asked, _, revision = path.partition("/revision/")
        if "/" in urlsplit(self.path).path.partition("/revision/")[2]:
            return self._refuse(404, None, "A slash in a revision must be written as %2F.")
        kind, _, name = asked.partition("s/")
        repository = self.hub.repositories.get((kind, name))
        if repository is None:
            return self._refuse(401, "RepoNotFound", "Invalid username or password.")
        commit = repository.resolve(revision or "main")
        if commit is None:
            return self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        siblings = [_sibling(path, body) for path, body in repository.commits[commit].items()]
        answer = {"id": name, "sha": commit, "siblings": siblings, "gated": repository.gated}
        self._reply(200, json.dumps(answer | {"cardData": repository.card}).encode())

    def _resolve(self, path: str) -> None:
        kind = "dataset" if path.startswith("datasets/") else "model"
        name, _, at = path.removeprefix("datasets/").partition("/resolve/")
        revision, _, file = at.partition("/")
        repository = self.hub.repositories[kind, name]
        commit = repository.resolve(revision)
        if self.role == "hub" and repository.gated:
            status = 403 if self.request_seen.authorization else 401
            return self._refuse(status, "GatedRepo", f"Access to {kind} {name} is restricted.")
        body = repository.commits[commit][file]
        headers = {"ETag": f'"{_blob_id(body)}"', "X-Repo-Commit": commit}
        if self.role == "hub" and file.endswith(LARGE):
            headers |= {
                "Location": f"{self.hub.cdn_url}{self.path}",
                "X-Linked-Size": str(len(body)),
                "X-Linked-Etag": f'"{hashlib.sha256(body).hexdigest()}"',
            }
            return self._reply(302, b"", headers)
        if self.fault and self.fault.altered:
            body = self.fault.altered(body)
        start, end = self.request_seen.start, min(self.request_seen.end, len(body) - 1)
        if start == 0 and end == len(body) - 1:
            return self._reply(200, body, headers)
        if start >= len(body):
            return self._reply(416, b"", {"Content-Range": f"bytes */{len(body)}"})
        headers["Content-Range"] = f"bytes {start}-{end}/{len(body)}"
        return self._reply(206, body[start : end + 1], headers)

    def _refuse(self, status: int, code: str | None, message: str) -> None:
        headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
        self._reply(status, json.dumps({"error": message}).encode(), headers)

    def _reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self._send(body)

    def _send(self, body: bytes) -> None:
        fault = self.fault or Fault("")
        limits = (fault.cut_after, fault.reset_after, fault.stall_after)
        limit = next((limit for limit in limits if limit is not None), len(body))
        for offset in range(0, min(limit, len(body)), 65536):
            piece = body[offset : min(offset + 65536, limit)]
            self.wfile.write(piece)
            self.request_seen.sent += len(piece)
        if limit >= len(body):
            return
        self.close_connection = True
        if fault.stall_after is not None:
            self.hub.closing.wait()
        elif fault.reset_after is not None:
            time.sleep(0.2)  # what was sent should be read before it
            # Closing with a linger of zero seconds sends a reset; detached, since the handler's own
            # closing would first end the stream politely.
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            os.close(self.connection.detach())


def _sibling(path: str, body: bytes) -> dict:
    sibling = {"rfilename": path, "size": len(body), "blobId": _blob_id(body)}
    if path.endswith(LARGE):
        sha256 = hashlib.sha256(body).hexdigest()
        sibling["lfs"] = {"sha256": sha256, "size": len(body), "pointerSize": 135}
    return sibling


def _blob_id(body: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()


def safetensors(size: int, seed: int = 0) -> bytes:
    """A valid file with one tensor of `size` bytes, two for each parameter."""
    tensor = {"dtype": "BF16", "shape": [size // 2], "data_offsets": [0, size]}
    header = json.dumps({"weight": tensor}).encode()
    return struct.pack("<Q", len(header)) + header + random.Random(seed).randbytes(size)


def model_files(size: int = 1_000_000, seed: int = 0) -> dict[str, bytes]:
    return {
        ".gitattributes": b"*.safetensors filter=lfs\n",
        "README.md": b"---\nlicense: apache-2.0\n---\n",
        "config.json": b'{"architectures": ["Qwen2ForCausalLM"]}',
        "model.safetensors": safetensors(size, seed),
        "tokenizer.json": b'{"version": "1.0"}',
    }
