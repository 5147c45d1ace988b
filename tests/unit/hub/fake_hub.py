"""A hub on this machine: as much of the protocol as the client needs to fetch, with faults on demand.

Like the real hub it answers for a large file (LFS) with a redirect to a second server, the CDN,
which knows nothing of accounts.
"""

import hashlib
import json
import random
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from huggingface_hub.utils.sha import git_hash

LARGE = (".safetensors", ".parquet")


@dataclass
class Repository:
    commits: dict[str, dict[str, bytes]]  # newest last; the default branch is at the newest
    tags: dict[str, str] = field(default_factory=dict)
    card: dict | None = None
    gated: bool | str = False

    def resolve(self, revision: str) -> str | None:
        commit = list(self.commits)[-1] if revision == "main" else self.tags.get(revision, revision)
        return commit if commit in self.commits else None


@dataclass
class Fault:
    """What goes wrong with the next `times` requests for contents whose path holds `path`."""

    path: str
    times: int = 1
    status: int | None = None
    body: bytes = b""
    stall_after: int | None = None  # nothing more comes, but the connection stays open
    alter: Callable[[bytes], bytes] | None = None


@dataclass
class Request:
    server: str
    method: str
    path: str
    authorization: str | None
    sent: int = 0


class FakeHub:
    def __init__(self):
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.closing = threading.Event()

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
        """Add a repository with these commits, oldest first; return their hashes."""
        hashed = {hashlib.sha1(repr(files).encode()).hexdigest(): files for files in commits}
        self.repositories[kind, name] = Repository(hashed, **about)
        return list(hashed)

    def get_fetched(self) -> list[str]:
        """List the names of files whose contents were requested."""
        contents = [r.path for r in self.requests if r.method == "GET" and "/resolve/" in r.path]
        return sorted({path.partition("/resolve/")[2].partition("/")[2] for path in contents})

    def count_sent(self, server: str = "cdn") -> int:
        return sum(request.sent for request in self.requests if request.server == server)

    def _start(self, role: str) -> ThreadingHTTPServer:
        handler = type("Handler", (_Handler,), {"hub": self, "role": role})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # of connections that the client cut
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
        path = unquote(urlsplit(self.path).path)
        self.request_seen = Request(
            self.role, self.command, path, self.headers.get("Authorization")
        )
        self.hub.requests.append(self.request_seen)
        self.fault = None
        if self.command == "GET" and not (self.role == "hub" and path.endswith(LARGE)):
            faults = (f for f in self.hub.faults if f.path in path and f.times > 0)
            self.fault = next(faults, None)
        if self.fault:
            self.fault.times -= 1
        if self.fault and self.fault.status:
            self._reply(self.fault.status, self.fault.body)
        elif path.startswith("/api/"):
            self._api(path.removeprefix("/api/"))
        else:
            self._resolve(path.removeprefix("/"))

    do_HEAD = do_GET

    def _api(self, path: str) -> None:
        name, _, revision = path.partition("/revision/")
        name, _, tree = name.partition("/tree/")
        kind, _, name = name.partition("s/")
        repository = self.hub.repositories.get((kind, name))
        if repository is None:
            return self._refuse(401, "RepoNotFound")
        commit = repository.resolve(tree or revision or "main")
        if commit is None:
            return self._refuse(404, "RevisionNotFound")
        files = repository.commits[commit]
        if tree:
            answer = [{"type": "file", **_describe(*file)} for file in files.items()]
            return self._reply(200, json.dumps(answer).encode())
        siblings = [{"rfilename": path, **_describe(path, body)} for path, body in files.items()]
        answer = {"id": name, "sha": commit, "siblings": siblings, "gated": repository.gated}
        return self._reply(200, json.dumps(answer | {"cardData": repository.card}).encode())

    def _resolve(self, path: str) -> None:
        kind = "dataset" if path.startswith("datasets/") else "model"
        name, _, rest = path.removeprefix("datasets/").partition("/resolve/")
        revision, _, file = rest.partition("/")
        repository = self.hub.repositories[kind, name]
        commit = repository.resolve(revision)
        if self.role == "hub" and repository.gated:
            status = 403 if self.request_seen.authorization else 401
            return self._refuse(status, "GatedRepo")
        body = repository.commits[commit].get(file)
        if body is None:
            return self._refuse(404, "EntryNotFound")
        headers = {"ETag": f'"{git_hash(body)}"', "X-Repo-Commit": commit}
        if self.role == "hub" and file.endswith(LARGE):
            headers |= {
                "Location": f"{self.hub.cdn_url}{self.path}",
                "X-Linked-Size": str(len(body)),
                "X-Linked-Etag": f'"{hashlib.sha256(body).hexdigest()}"',
            }
            return self._reply(302, b"", headers)
        if self.fault and self.fault.alter:
            body = self.fault.alter(body)
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        part = body[int(first) : int(last or sys.maxsize) + 1]
        headers["Content-Range"] = f"bytes {first}-{int(first) + len(part) - 1}/{len(body)}"
        return self._reply(206 if len(part) < len(body) else 200, part, headers)

    def _refuse(self, status: int, code: str) -> None:
        self._reply(status, b"", {"X-Error-Code": code})

    def _reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        stall_after = self.fault.stall_after if self.fault else None
        self.wfile.write(body[:stall_after])
        self.request_seen.sent += len(body[:stall_after])
        if stall_after is not None:
            self.hub.closing.wait()


def _describe(path: str, body: bytes) -> dict:
    """Describe a file with the keys of both the listing and the tree."""
    about = {"path": path, "size": len(body), "blobId": git_hash(body), "oid": git_hash(body)}
    if path.endswith(LARGE):
        sha256 = hashlib.sha256(body).hexdigest()
        about["lfs"] = {"sha256": sha256, "oid": sha256, "size": len(body), "pointerSize": 135}
    return about


def safetensors(size: int, seed: int = 0) -> bytes:
    """Make a valid file with one tensor of `size` bytes, two for each parameter."""
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
