import pytest

from tests.unit.hub.fake_hub import model_files
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.fetch import fetch
from workflow_scripts.hub.lock import departures, lock_hub, read_lock, write_lock
from workflow_scripts.hub.manifest import MANIFEST, Manifest, write_manifest

HEADER = "kind\trepository\tcommit\n"
A, B = "a" * 40, "b" * 40


def manifest(repository: str, commit: str, kind="model", source="huggingface") -> Manifest:
    about = {"revision": None, "licence": None, "files": ()}
    return Manifest(kind=kind, source=source, repository=repository, commit=commit, **about)


def test_no_lock_is_an_empty_one(tmp_path):
    assert read_lock(tmp_path / "hub.lock.tsv") == {}


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "config" / "hub.lock.tsv"
    write_lock(path, [manifest("Qwen/Qwen2.5-0.5B", B), manifest("cais/mmlu", A, "dataset")])
    assert path.read_text() == f"{HEADER}dataset\tcais/mmlu\t{A}\nmodel\tQwen/Qwen2.5-0.5B\t{B}\n"
    assert read_lock(path) == {("dataset", "cais/mmlu"): A, ("model", "Qwen/Qwen2.5-0.5B"): B}


def test_rows_of_other_runs_are_kept_and_those_of_this_one_replaced(tmp_path):
    path = tmp_path / "hub.lock.tsv"
    write_lock(path, [manifest("z/z", A), manifest("m/m", A)])
    write_lock(path, [manifest("m/m", B), manifest("m/m", B, "dataset")])
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    assert rows == [["dataset", "m/m", B], ["model", "m/m", B], ["model", "z/z", A]]


def test_the_miniature_world_is_not_locked(tmp_path):
    path = tmp_path / "hub.lock.tsv"
    write_lock(path, [manifest("m/m", A, source="miniature")])
    assert path.read_text() == HEADER


@pytest.mark.parametrize(
    ("content", "said"), [(b"by hand\n", "is not the header"), (b"\xff\xfe", "is not UTF-8 text")]
)
def test_a_broken_lock_is_not_overwritten(tmp_path, content, said):
    path = tmp_path / "hub.lock.tsv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=said):
        write_lock(path, [manifest("m/m", A)])
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["hub.lock.tsv"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: '' is not the header"),
        ("kind,repository,commit\n", "line 1: 'kind,repository,commit' is not the header"),
        (f"{HEADER}model\tm/m\n", "line 2: expected 3 fields separated by tabs, found 2"),
        (f"{HEADER}model\tm/m\t{A}\n\n", "line 3: expected 3 fields separated by tabs, found 1"),
        (
            f"{HEADER}modell\tm/m\t{A}\n",
            "line 2: the kind 'modell' is unknown; expected dataset or",
        ),
        (f"{HEADER}model\t../m\t{A}\n", "line 2: '../m' is not a repository"),
        (f"{HEADER}model\tm/m\tmain\n", "line 2: 'main' is not a commit; expected 40"),
        (f"{HEADER}model\tm/m\t{A}\nmodel\tm/m\t{B}\n", "line 3: the model m/m has a row already"),
    ],
)
def test_whatever_is_odd_is_named_with_its_line(tmp_path, text, problem):
    path = tmp_path / "hub.lock.tsv"
    path.write_bytes(text.encode())
    with pytest.raises(UserError, match=f"hub.lock.tsv, {problem}"):
        read_lock(path)


def test_all_problems_are_told_at_once(tmp_path):
    path = tmp_path / "hub.lock.tsv"
    path.write_text(f"{HEADER}x\tm/m\t{A}\nmodel\tm\t{A}\nmodel\tm/m\t1\n")
    with pytest.raises(UserError) as caught:
        read_lock(path)
    assert len(caught.value.problems) == 3


def test_a_folder_at_another_commit_departs_from_the_lock(tmp_path):
    lock, folder = tmp_path / "hub.lock.tsv", tmp_path / "hub" / "models" / "m" / "m"
    write_lock(lock, [manifest("m/m", A), manifest("not/fetched", A)])
    write_manifest(folder, manifest("m/m", A))
    assert departures(lock, tmp_path / "hub") == []

    write_manifest(folder, manifest("m/m", B))
    [sentence] = departures(lock, tmp_path / "hub")
    assert sentence.startswith(f"{folder} holds commit {B}, but {lock} says {A}: add")
    assert departures(lock, tmp_path / "hub", named=[str(folder / MANIFEST)]) == []


def test_a_locked_commit_outlives_a_new_one_on_the_hub(hub, tmp_path):
    [old] = hub.add("model", "m/m", [model_files(seed=1)])
    fetched = tmp_path / "models" / "m" / "m"
    fetch("model", "m/m", None, fetched)
    lock = tmp_path / "config" / "hub.lock.tsv"
    lock_hub({"manifests": [fetched / MANIFEST]}, {"lock": str(lock)}, {})
    assert read_lock(lock) == {("model", "m/m"): old}

    hub.add("model", "m/m", [model_files(seed=1), model_files(seed=2)])
    assert fetch("model", "m/m", None, tmp_path / "free").commit != old
    obeyed = fetch("model", "m/m", None, tmp_path / "locked", read_lock(lock)["model", "m/m"])
    assert obeyed.commit == old
