"""Which items each model of a run answered rightly, for tests on the same items."""

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from workflow_scripts.core.records import sort_records


def right_answers(records: list[Path]) -> dict[tuple[str, str, str], pd.Series]:
    """By protocol, checkpoint and task, in the order of the items' names.

    Tasks whose items are not simply right or wrong are left out, and so are broken cells, which have
    no items. Of several seeds the lowest is taken: McNemar's test is about one answer to each item.
    """
    whole, _ = sort_records(records)
    found: dict[tuple[str, str, str], tuple[int, pd.Series]] = {}
    indices: dict[str, pd.Index] = {}
    for path, record in whole:
        key = (record.protocol.name, record.model.id, record.task.name)
        if key in found and found[key][0] <= record.protocol.seed:
            continue
        items = pq.read_table(path.with_name(record.items.file), columns=["item", "correct"])
        right = items.to_pandas().set_index("item")["correct"].sort_index()
        if right.isna().any() or not right.index.is_unique:
            continue
        # Models are asked the same items: one index for all of them, or a grid would fill the memory.
        shared = indices.setdefault(record.task.name, right.index)
        index = shared if shared.equals(right.index) else right.index
        found[key] = (record.protocol.seed, pd.Series(right.to_numpy(dtype=bool), index))
    return {key: right for key, (_, right) in found.items()}
