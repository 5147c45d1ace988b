"""What every generated dataset is made of: rows that never repeat, in splits that never share one."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from datasets import Features, Value

Row = dict[str, Any]

STRING = Value("string")
USUAL_SPLITS = ("train", "validation", "test")
TRAIN_ROWS = 1_200
LABEL_NOISE = 0.03


@dataclass(frozen=True)
class Repository:
    """One dataset as the hub holds it: of each configuration the columns, and the rows of each split."""

    name: str
    configs: Mapping[str, tuple[Features, Mapping[str, list[Row]]]]
    default: str | None = None


def only(
    name: str, features: Features, splits: dict[str, list[Row]], config: str = "default"
) -> Repository:
    """A dataset of one configuration."""
    return Repository(name, {config: (features, splits)}, default=config)


def columns(texts: str, **others: Any) -> Features:
    """Columns of text, by their names, and behind them others."""
    return Features(dict.fromkeys(texts.split(), STRING) | others)


def draw_usual(
    make: Callable[[random.Random], Row],
    rng: random.Random,
    items: int,
    key: str | Callable[[Row], Any],
    splits: Sequence[str] = USUAL_SPLITS,
    **withheld: Any,
) -> dict[str, list[Row]]:
    """Draw splits of the usual sizes; rows are told apart by the columns of `key`, or by what it makes of them.

    `withheld` stands in place of the answers in splits called test..., whose labels are kept secret.
    """
    # Splits called train... get the training size, all others the number of test items.
    sizes = {split: TRAIN_ROWS if split.startswith("train") else items for split in splits}
    rows = draw_splits(make, rng, sizes, itemgetter(*key.split()) if isinstance(key, str) else key)
    return {
        split: [row | withheld for row in drawn] if split.startswith("test") else drawn
        for split, drawn in rows.items()
    }


def draw_labelled(
    make: Callable[[random.Random], Row],
    rng: random.Random,
    items: int,
    key: str,
    classes: int,
    splits: Sequence[str] = USUAL_SPLITS,
    **withheld: Any,
) -> dict[str, list[Row]]:
    """The same, with a running number per split, and now and then any label at all: annotators err."""

    def noisy(rng: random.Random) -> Row:
        row = make(rng)
        return {**row, "label": noisy_label(rng, row["label"], classes)}

    rows = draw_usual(noisy, rng, items, key, splits, **withheld)
    return {split: [{**row, "idx": i} for i, row in enumerate(of)] for split, of in rows.items()}


def draw_splits(
    make: Callable[[random.Random], Row],
    rng: random.Random,
    sizes: Mapping[str, int],
    key: Callable[[Row], Any],
) -> dict[str, list[Row]]:
    """Draw rows until every split is full; no two rows of all splits share their key.

    The key is what a model is shown of a row, so a question of one split is never one of another.
    """
    seen: set[Any] = set()
    rows: list[Row] = []
    needed = sum(sizes.values())
    for _ in range(60 * needed):
        if len(rows) == needed:
            break
        row = make(rng)
        identity = key(row)
        if identity not in seen:
            seen.add(identity)
            rows.append(row)
    if len(rows) < needed:
        raise ValueError(
            f"{make.__name__} has only {len(rows)} different rows; {needed} are needed."
        )
    remaining = iter(rows)
    return {split: [next(remaining) for _ in range(size)] for split, size in sizes.items()}


def noisy_label(rng: random.Random, label: int, classes: int) -> int:
    """The label, or now and then any label at all: annotators err."""
    return rng.randrange(classes) if rng.random() < LABEL_NOISE else label


def shuffled_choices(
    rng: random.Random, right: str, pool: Sequence[str], count: int
) -> tuple[list[str], int]:
    """`count` choices in random order, one of them right, and the index of that one."""
    wrong = rng.sample([choice for choice in dict.fromkeys(pool) if choice != right], count - 1)
    choices = [right, *wrong]
    rng.shuffle(choices)
    return choices, choices.index(right)
