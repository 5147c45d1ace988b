"""Build nine hostile requests and repositories, each with words that its refusal must contain."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.unit.hub.fake_hub import FakeHub

SECRET = "the first line of a private file"
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
Files = dict[str, bytes]


def make_request(name: str, **keys) -> str:
    return yaml.safe_dump({"name": name, "precision": "float32", "model_type": "pretrained"} | keys)


def _edit_config(files: Files, **keys) -> Files:
    return files | {"config.json": json.dumps(json.loads(files["config.json"]) | keys).encode()}


# For each request file, a function that creates it, and words of its refusal.
_REQUESTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "link.yaml": (lambda path: path.symlink_to(path.parent / "../secret.txt"), "is a link"),
    "pipe.yaml": (os.mkfifo, "not a regular file"),
    "bomb.yaml": (lambda path: path.write_text("a: &a [1, 1]\nb: &b [*a, *a]"), "has an alias"),
    f"{ESCAPE}.yaml": (
        lambda path: path.write_text(make_request("acme/good")),
        "its file name may",
    ),
    "signs.yaml": (
        lambda path: path.write_text(make_request("acme/good", precision=ESCAPE)),
        "precision is",
    ),
}
# For each repository, a change of valid files, its licence, and words of its refusal.
_REPOSITORIES: dict[str, tuple[Callable[[Files], Files], str, str]] = {
    "nested": (
        lambda good: good | {"config.json": b'{"a":' * 200_000 + b"1" + b"}" * 200_000},
        "mit",
        "it does not load",
    ),
    "layers": (
        lambda good: _edit_config(good, num_hidden_layers=10**9),
        "mit",
        "it cannot be checked: it took more than",
    ),
    "code": (
        lambda good: _edit_config(good, model_type="mine", auto_map={"AutoConfig": "mine.Mine"}),
        "mit",
        "it needs trust_remote_code",
    ),
    "formula": (lambda good: good, '=HYPERLINK("http://x","y")', "its licence '=HYPERLINK"),
}


def fill(folder: Path, hub: FakeHub, good: Files) -> dict[str, str]:
    """Write the hostile requests and two valid ones; return the words of each refusal, keyed by file."""
    folder.mkdir()
    (folder.parent / "secret.txt").write_text(SECRET)
    reasons = {}
    for file, (make, words) in _REQUESTS.items():
        make(folder / file)
        reasons[file] = words
    for name, (edit, licence, words) in _REPOSITORIES.items():
        hub.add("model", f"acme/{name}", [edit(good)], card={"license": licence})
        (folder / f"{name}.yaml").write_text(make_request(f"acme/{name}"))
        reasons[f"{name}.yaml"] = words
    hub.add("model", "acme/good", [good], card={"license": "mit"})
    for precision in ("float32", "bfloat16"):
        (folder / f"good-{precision}.yaml").write_text(
            make_request("acme/good", precision=precision)
        )
    return reasons
