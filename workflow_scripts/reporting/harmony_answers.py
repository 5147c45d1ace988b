"""Which items each model of the Harmony study answered rightly, for tests on the same items."""

from pathlib import Path

import pandas as pd

from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record


def right_answers(records: list[Path]) -> dict[tuple[str, str, str], pd.Series]:
    """By protocol, checkpoint and task; tasks whose items are not simply right or wrong are left out.

    Of several seeds the first is taken: McNemar's test is about one answer to each item.
    """
    found: dict[tuple[str, str, str], tuple[int, pd.Series]] = {}
    for path in records:
        record = read_record(path)
        items = read_items(path.with_name(record.items.file))
        correct = items.column("correct").to_pylist()
        key = (record.protocol.name, record.model.id, record.task.name)
        if None in correct or (key in found and found[key][0] <= record.protocol.seed):
            continue
        right = pd.Series(correct, index=items.column("item").to_pylist(), dtype=bool)
        if right.index.is_unique:
            found[key] = (record.protocol.seed, right)
    return {key: right for key, (_, right) in found.items()}
