"""Serve a local fake hub: the part of the protocol that the client needs, with injected faults.

Like the real hub, it redirects requests for large files (LFS) to a second server, the CDN, which must
not receive the token.
"""

import hashlib
import json
import random
import struct
import threading
from collections import Counter
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

from huggingface_hub.utils.sha import git_hash

LARGE = (".safetensors", ".parquet")
PARAMETERS = 500_000  # this hub reports it for every model


class FakeHub:
    def __init__(self):
        self.answers: dict[str, bytes] = {}  # by path
        self.gated: set[str] = set()  # names of repositories
        self.commits: dict[tuple[str, str], str] = {}  # newest commit by kind and name
        self.altered = Counter[str]()  # times that a file is still sent with another last byte
        self.requests: list[SimpleNamespace] = []

    def __enter__(self) -> "FakeHub":
        self._servers = [self._start("hub"), self._start("cdn")]
        self.url, self.cdn_url = (f"http://127.0.0.1:{s.server_port}" for s in self._servers)
        return self

    def __exit__(self, *_) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def add(
        self,
        kind: str,
        name: str,
        commits: Iterable[dict[str, bytes]],
        card: dict | None = None,
        gated: bool = False,
    ) -> list[str]:
        """Add a repository with these commits, oldest first; return their hashes."""
        hashes = []
        if gated:
            self.gated.add(name)
        for files in commits:
            described = [_describe(path, body) for path, body in files.items()]
            commit = self.commits[kind, name] = hashlib.sha1(repr(described).encode()).hexdigest()
            hashes.append(commit)
            info = {"id": name, "sha": commit, "siblings": described, "gated": gated}
            info |= {"cardData": card, "safetensors": {"parameters": {}, "total": PARAMETERS}}
            api, answer = f"/api/{kind}s/{name}", json.dumps(info).encode()
            for revision in ("", "/revision/main", f"/revision/{commit}"):
                self.answers[f"{api}{revision}"] = answer
            self.answers[f"{api}/tree/{commit}"] = json.dumps(described).encode()
            folder = "datasets/" if kind == "dataset" else ""
            for path, body in files.items():
                self.answers[f"/{folder}{name}/resolve/{commit}/{path}"] = body
        return hashes

    def get_fetched(self) -> list[str]:
        """List the names of the files that were sent."""
        contents = [r.path.partition("/resolve/")[2] for r in self.requests if r.sent]
        return sorted({path.partition("/")[2] for path in contents if path})

    def count_sent(self, server: str = "cdn") -> int:
        return sum(request.sent for request in self.requests if request.server == server)

    def _start(self, role: str) -> ThreadingHTTPServer:
        handler = type("Handler", (_Handler,), {"hub": self, "role": role})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # ignore connections closed by the client
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # send the body without waiting after the headers
    hub: FakeHub
    role: str

    def log_message(self, *_) -> None:
        pass

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        redirects = self.role == "hub" and path.endswith(LARGE)
        account = self.headers.get("Authorization")
        self.seen = SimpleNamespace(server=self.role, path=path, authorization=account, sent=0)
        self.hub.requests.append(self.seen)
        body = self.hub.answers.get(path)
        repository = path.partition("/resolve/")[0].removeprefix("/datasets").strip("/")
        if self.role == "hub" and repository in self.hub.gated:
            self._reply(403 if account else 401, headers={"X-Error-Code": "GatedRepo"})
        elif body is None:
            self._reply(404, headers={"X-Error-Code": "RepoNotFound"})
        elif path.startswith("/api/"):
            self._reply(200, body)
        else:
            self._send_file(body, *path.partition("/resolve/")[2].split("/", 1), redirects)

    do_HEAD = do_GET

    def _send_file(self, body: bytes, commit: str, name: str, redirects: bool) -> None:
        headers = {"ETag": f'"{git_hash(body)}"', "X-Repo-Commit": commit}
        if redirects:
            headers |= {
                "Location": f"{self.hub.cdn_url}{self.path}",
                "X-Linked-Size": str(len(body)),
                "X-Linked-Etag": f'"{hashlib.sha256(body).hexdigest()}"',
            }
            return self._reply(302, b"", headers)
        if self.command == "GET" and self.hub.altered[name] > 0:
            self.hub.altered[name] -= 1
            body = body[:-1] + b"?"
        first = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        headers["Content-Range"] = f"bytes {first}-{len(body) - 1}/{len(body)}"
        return self._reply(206 if first else 200, body[first:], headers)

    def _reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
            self.seen.sent += len(body)


def _describe(path: str, body: bytes) -> dict:
    """Describe a file with the keys of both the listing and the tree API."""
    sha256, blob = hashlib.sha256(body).hexdigest(), git_hash(body)
    lfs = {"sha256": sha256, "oid": sha256, "size": len(body), "pointerSize": 135}
    fields = {"type": "file", "path": path, "rfilename": path, "size": len(body)}
    fields |= {"blobId": blob, "oid": blob}
    return fields | ({"lfs": lfs} if path.endswith(LARGE) else {})


def safetensors(size: int, seed: int = 0) -> bytes:
    """Make a valid safetensors file with one bfloat16 tensor of `size` bytes."""
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
