"""Sample and write the generated datasets of `tables.yaml`; no row repeats within or between splits."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import ClassLabel, Features, List, Value

from workflow_scripts.core.files import hash_file, hash_text, open_atomic_dir
from workflow_scripts.miniature.catalogue import TABLES
from workflow_scripts.miniature.store import LICENCE, write_card_and_manifest
from workflow_scripts.miniature.world import get_rng

Row = dict[str, Any]
Values = tuple[Any, ...]  # values of a row in the order of the columns
Splits = dict[str, list[Row]]
Repository = dict[str, Splits]  # by configuration

_ABOUT_A_DATASET = """\
Generated for Chorus's miniature world. It has the columns, splits and configurations of the
dataset of this name on the hub and none of its content: every row is invented.
"""
TRAIN_ROWS = 1_200
LABEL_NOISE = 0.03  # fraction of random labels in a table with `noisy`
_MAX_DRAWS_PER_ROW = 60


def draw_table(table: dict[str, Any], make: Callable[[Random], Values], items: int) -> Splits:
    """Sample the splits of a configuration, with `items` rows in each but train; `make` samples one row."""
    columns = table["columns"]
    names = [name for name in columns if name not in {"idx", "split", *table.get("constants", ())}]

    def make_row(rng: Random) -> Row:
        row = dict(zip(names, make(rng), strict=True))
        if "noisy" in table and rng.random() < LABEL_NOISE:
            row["label"] = rng.randrange(len(columns["label"].split(" or ")))
        return row

    split_names = table.get("splits", ["train", "validation", "test"])
    sizes = {name: TRAIN_ROWS if name.startswith("train") else items for name in split_names}
    splits = draw_splits(make_row, get_rng(*table["seed"]), sizes, table["key"])
    for split, rows in splits.items():
        withheld = table.get("withheld", {}) if split.startswith("test") else {}
        for index, row in enumerate(rows):
            row |= {"idx": index, "split": split.removesuffix("idation")} | withheld
    return splits


def draw_splits(
    make: Callable[[Random], Row], rng: Random, sizes: Mapping[str, int], key: Sequence[str]
) -> Splits:
    """Sample rows until every split is full; no two rows are equal in the columns `key`, also between splits.

    Only the text up to a gap (_) is compared, so a test question is never a training question.
    """
    rows: dict[tuple[str, ...], Row] = {}
    num_rows = sum(sizes.values())
    for _ in range(_MAX_DRAWS_PER_ROW * num_rows):
        if len(rows) == num_rows:
            break
        row = make(rng)
        rows.setdefault(tuple(str(row[column]).partition("_")[0] for column in key), row)
    else:
        raise ValueError(f"There are {len(rows)} different rows of {sizes}; expected {num_rows}.")
    remaining = iter(rows.values())
    return {split: [next(remaining) for _ in range(size)] for split, size in sizes.items()}


def shuffle_choices(
    rng: Random, correct: str, pool: Sequence[str], count: int
) -> tuple[list[str], int]:
    """Sample `count` choices in random order with one correct choice; return them and its index."""
    wrong = rng.sample([choice for choice in dict.fromkeys(pool) if choice != correct], count - 1)
    choices = [correct, *wrong]
    rng.shuffle(choices)
    return choices, choices.index(correct)


def write_repository(hub: Path, name: str, configs: Repository) -> None:
    """Write `<hub>/datasets/<org>/<name>` atomically, with the rows by configuration and split."""
    with open_atomic_dir(hub / "datasets" / name) as folder:
        cards = []
        for config, splits in configs.items():
            (folder / config).mkdir()
            table = TABLES[name].get(config) or TABLES[name]["*"]
            schema = Features(_build_feature(table["columns"])).arrow_schema
            constants = table.get("constants", {})
            digests = []
            for split, rows in splits.items():
                path = folder / config / f"{split}-00000-of-00001.parquet"
                pq.write_table(
                    pa.Table.from_pylist([row | constants for row in rows], schema), path
                )
                digests.append(hash_file(path))
            card: Row = {"config_name": config}
            if "default" in table:
                card["default"] = True
            # If the card did not change, the cache of `datasets` would return old rows.
            card["description"] = "sha256:" + hash_text(" ".join(digests))
            card["data_files"] = [
                {"split": split, "path": f"{config}/{split}-*.parquet"} for split in splits
            ]
            cards.append(card)
        header = {"license": LICENCE, "configs": cards}
        write_card_and_manifest(folder, name, _ABOUT_A_DATASET, header, kind="dataset")


def _build_feature(spec: Any) -> Any:
    if isinstance(spec, dict):
        return {name: _build_feature(inner) for name, inner in spec.items()}
    if isinstance(spec, list):
        return List(_build_feature(spec[0]))
    labels = spec.split(" or ")
    return ClassLabel(names=labels) if len(labels) > 1 else Value(spec)
