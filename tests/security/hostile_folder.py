"""Thirty requests and repositories by people who mean no good; each with the words that its reason must have."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.unit.hub.fake_hub import FakeHub

SECRET = "the first line of a file that is nobody's business"
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
Files = dict[str, bytes]

_KEYS = {"precision": "float32", "model_type": "pretrained"}


def request(name: str, **keys) -> str:
    return yaml.safe_dump({"name": name} | _KEYS | keys)


def _link(to: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(path.parent / to)


def _written(content: str | bytes) -> Callable[[Path], None]:
    content = content.encode() if isinstance(content, str) else content
    return lambda path: path.write_bytes(content) and None


# By the name of the file: how it is made, and of what its reason speaks.
_REQUESTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "link.yaml": (_link("../secret.txt"), "is a link"),
    "dangling.yaml": (_link("nowhere"), "is a link"),
    "loop.yaml": (_link("loop.yaml"), "is a link"),
    "folder.yaml": (Path.mkdir, "is no regular file"),
    "pipe.yaml": (os.mkfifo, "is no regular file"),
    "base-60.yaml": (_written(f"a: {':'.join(['59'] * 5000)}"), "an endless number"),
    "deep.yaml": (_written("[" * 19_000), "cannot be read as YAML"),
    "bomb.yaml": (_written("a: &a [1, 1]\nb: &b [*a, *a]"), "has an alias"),
    "half.yaml": (_written(request("acme/good") + 'note: "\\ud800"'), "a valid string"),
    f"{ESCAPE}.yaml": (_written(request("acme/good")), "its file's name may hold letters"),
    "large.yaml": (_written("#" * 20_001), "more than 20000 bytes"),
    "bytes.yaml": (_written(b"\xff\xfe\x00"), "cannot be read as YAML"),
    "signs.yaml": (_written(request("acme/good", precision=ESCAPE)), "precision is"),
    "keys.yaml": (_written(request("acme/good") + "x: 1\n" * 2), "a second time"),
}


def _config(files: Files, **keys) -> Files:
    return files | {"config.json": json.dumps(json.loads(files["config.json"]) | keys).encode()}


# By the name of the repository: its files, made of good ones, its card, and of what the reason speaks.
_REPOSITORIES: dict[str, tuple[Callable[[Files], Files], object, str]] = {
    "nested": (
        lambda good: good | {"config.json": b'{"a":' * 200_000 + b"1" + b"}" * 200_000},
        "mit",
        "its configuration does not load",
    ),
    "list": (lambda good: _config(good, model_type=["llama"]), "mit", "configuration does not"),
    "number": (lambda good: good, 5, "its licence '5' is not among"),
    "numbers": (lambda good: good, [1, 2.5], "its licence '1, 2.5' is not among"),
    "long": (lambda good: good | {"n" * 245 + ".json": b"{}"}, "mit", "cannot be taken"),
    "many": (lambda good: good | {f"{n}.json": b"" for n in range(600)}, "mit", "small files"),
    "layers": (
        lambda good: _config(good, num_hidden_layers=10**9),
        "mit",
        "it cannot be checked: it took more than",
    ),
    "escape": (lambda good: _config(good, model_type=ESCAPE), "mit", "configuration does not"),
    "no-object": (lambda good: good | {"config.json": b"[]"}, "mit", "does not load"),
    "no-heads": (lambda good: _config(good, num_attention_heads=0), "mit", "does not load"),
    "words": (lambda good: _config(good, hidden_size="wide"), "mit", "does not load"),
    "endless": (
        lambda good: _config(good, num_labels=10**9),
        "mit",
        "it cannot be checked: it took more than",
    ),
    "tokens": (lambda good: good | {"tokenizer.json": b"[" * 9_000}, "mit", "its tokenizer does"),
    "code": (
        lambda good: _config(good, model_type="mine", auto_map={"AutoConfig": "mine.Mine"}),
        "mit",
        "it needs trust_remote_code",
    ),
    "pickles": (
        lambda good: {name: held for name, held in good.items() if "safetensors" not in name},
        "mit",
        "it holds no safetensors weights",
    ),
    "formula": (lambda good: good, '=HYPERLINK("http://x","y")', "its licence '=HYPERLINK"),
}


def fill(folder: Path, hub: FakeHub, good: Files) -> dict[str, str]:
    """The words of each reason, by its request's file as one may print it; five requests are good."""
    folder.mkdir()
    (folder.parent / "secret.txt").write_text(SECRET)
    reasons = {}
    for file, (make, words) in _REQUESTS.items():
        make(folder / file)
        reasons[file] = words
    for name, (spoilt, licence, words) in _REPOSITORIES.items():
        hub.add("model", f"acme/{name}", [spoilt(good)], card={"license": licence})
        (folder / f"{name}.yaml").write_text(request(f"acme/{name}"))
        reasons[f"{name}.yaml"] = words
    for name in ("good", "also-good"):
        hub.add(
            "model", f"acme/{name}", [good | {"LICENSE": name.encode()}], card={"license": "mit"}
        )
    for at, precision in enumerate(("float32", "bfloat16", "float16")):
        (folder / f"good-{at}.yaml").write_text(request("acme/good", precision=precision))
    (folder / "good-3.yaml").write_text(request("acme/also-good"))
    (folder / "good-4.yaml").write_text(request("acme/good", protocol="train_before_test"))
    return reasons
