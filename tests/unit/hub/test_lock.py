"""Test reading, writing and checking the lock file."""

import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.lock import find_lock_conflicts, read_lock, write_lock
from workflow_scripts.hub.manifest import MANIFEST, Manifest, write_manifest

HEADER = "kind\trepository\tcommit\n"
A, B = "a" * 40, "b" * 40


def make_manifest(repository: str, commit: str, kind="model", source="huggingface") -> Manifest:
    facts = {"revision": None, "licence": None, "files": ()}
    return Manifest(kind=kind, source=source, repository=repository, commit=commit, **facts)


def write_commit(folder, commit: str) -> None:
    write_manifest(folder, **make_manifest("m/m", commit).model_dump(exclude={"schema_version"}))


def test_write_lock(tmp_path):
    """Rows of other runs are kept; generated and local models are not locked."""
    path = tmp_path / "config" / "hub.lock.tsv"
    assert read_lock(path) == {}
    write_lock(path, [make_manifest("z/z", A), make_manifest("m/m", A)])
    own = [make_manifest("x/x", B, source="miniature"), make_manifest("local/x", B, source="local")]
    write_lock(path, [make_manifest("m/m", B), make_manifest("m/m", B, "dataset"), *own])
    assert path.read_text() == f"{HEADER}dataset\tm/m\t{B}\nmodel\tm/m\t{B}\nmodel\tz/z\t{A}\n"
    assert read_lock(path) == {("dataset", "m/m"): B, ("model", "m/m"): B, ("model", "z/z"): A}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEADER}model\t../m\t{A}\n", "line 2"),
        (f"{HEADER}model\tm/m\tmain\n", "line 2"),
        (f"{HEADER}model\tm/m\t{A}\nmodel\tm/m\t{B}\n", "line 3"),
        ("\xff", "cannot be read as a tab-separated UTF-8 table"),
    ],
)
def test_read_lock_refused(tmp_path, text, words):
    path = tmp_path / "hub.lock.tsv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=f"hub.lock.tsv.*{words}"):
        write_lock(path, [make_manifest("m/m", A)])
    assert path.read_bytes() == text.encode("latin-1"), "a broken lock was overwritten"


def test_find_lock_conflicts(tmp_path):
    lock, folder = tmp_path / "hub.lock.tsv", tmp_path / "hub" / "models" / "m" / "m"
    write_lock(lock, [make_manifest("m/m", A), make_manifest("not/fetched", A)])
    write_commit(folder, A)
    assert not list(find_lock_conflicts(lock, tmp_path / "hub"))
    write_commit(folder, B)
    [problem] = find_lock_conflicts(lock, tmp_path / "hub")
    assert str(folder / MANIFEST) in problem and A in problem
