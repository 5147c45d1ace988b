"""The items behind a record: one row per question, in Parquet."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workflow_scripts.core.conditions import Condition
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_path


@dataclass(frozen=True)
class Item:
    """A question and what came back; null where a kind of task has no such thing."""

    item: str
    prompt_sha256: str
    gold: str | None
    prediction: str | None
    correct: bool | None = None
    subset: str | None = None
    cluster: str | None = None  # what it shares with other items: a premise, a passage, a twin
    scores: dict[str, float] = field(default_factory=dict)
    loglikelihoods: list[float] | None = None
    text: str | None = None
    format_met: bool | None = None
    parser: str | None = None
    prompt: str | None = None  # its end, where the measurement keeps texts
    choices: list[str] | None = None
    condition: Condition | None = None


def items_schema():
    import pyarrow as pa

    kinds: dict[Any, pa.DataType] = {str | None: pa.string(), int | None: pa.int64()}
    condition = pa.struct(
        [pa.field(name, kinds[of.annotation]) for name, of in Condition.model_fields.items()]
    )
    return pa.schema(
        [
            pa.field("item", pa.string(), nullable=False),
            pa.field("subset", pa.string()),
            pa.field("cluster", pa.string()),
            pa.field("prompt_sha256", pa.string(), nullable=False),
            pa.field("gold", pa.string()),
            pa.field("prediction", pa.string()),
            pa.field("correct", pa.bool_()),
            pa.field("scores", pa.map_(pa.string(), pa.float64())),
            pa.field("loglikelihoods", pa.list_(pa.float64())),
            pa.field("text", pa.string()),
            pa.field("format_met", pa.bool_()),
            pa.field("parser", pa.string()),
            pa.field("prompt", pa.string()),
            pa.field("choices", pa.list_(pa.string())),
            pa.field("condition", condition),
        ]
    )


def write_items(path: Path, items: list[Item]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        vars(item)
        | {"scores": sorted(item.scores.items())}
        | {"condition": item.condition and item.condition.model_dump()}
        for item in items
    ]
    with atomic_path(path) as temporary:
        pq.write_table(pa.Table.from_pylist(rows, items_schema()), temporary, compression="zstd")


def read_items(path: Path):
    """The items as a pyarrow table, refused when its columns are not the ones above."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise UserError(f"{path} is missing, though its record names it.") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path} is not a whole Parquet file ({error}).") from None
    expected = items_schema()
    if not table.schema.equals(expected):
        differing = sorted({field.name for field in {*expected} ^ {*table.schema}})
        raise UserError(f"{path} has unexpected or missing columns: {', '.join(differing)}.")
    return table
