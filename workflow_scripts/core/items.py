"""Read and write the items of a record in Parquet: one row per question."""

from dataclasses import dataclass, field, fields
from pathlib import Path

from workflow_scripts.core.files import open_atomic_path
from workflow_scripts.core.measurement_conditions import Condition


@dataclass(frozen=True, kw_only=True)
class Item:
    """A question with the model's answer; null for fields that its type of task does not have."""

    item: str
    subset: str | None = None
    # Group of items that share a premise, a passage or a paired question.
    cluster: str | None = None
    prompt_sha256: str
    gold: str | None = None
    prediction: str | None = None
    correct: bool | None = None
    scores: dict[str, float] = field(default_factory=dict)
    loglikelihoods: list[float] | None = None
    text: str | None = None
    format_met: bool | None = None
    parser: str | None = None
    choices: list[str] | None = None
    condition: Condition | None = None


def build_items_schema():
    """Build the schema of the Parquet file; columns without a type of their own are text."""
    import pyarrow as pa

    text = pa.string()
    condition = [
        (name, pa.int64() if field.annotation == int | None else text)
        for name, field in Condition.model_fields.items()
    ]
    types = {
        "correct": pa.bool_(),
        "scores": pa.map_(text, pa.float64()),
        "loglikelihoods": pa.list_(pa.float64()),
        "format_met": pa.bool_(),
        "choices": pa.list_(text),
        "condition": pa.struct(condition),
    }
    required = {"item", "prompt_sha256"}
    return pa.schema(
        [
            pa.field(column.name, types.get(column.name, text), column.name not in required)
            for column in fields(Item)
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
    with open_atomic_path(path) as temporary:
        pq.write_table(
            pa.Table.from_pylist(rows, build_items_schema()), temporary, compression="zstd"
        )


def read_items(record: Path):
    """Read the items of a record as a pyarrow table; `read_record` has compared the file with its checksum."""
    import pyarrow.parquet as pq

    return pq.read_table(record.with_suffix(".parquet"))
