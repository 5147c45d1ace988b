"""What a model said in one run, kept apart from what is made of it.

A JSON file about the run and, beside it, a Parquet file of the outputs, one row a question. Scoring
reads nothing else, so a changed parser needs no model.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_path, canonical_json, sha256_file, write_json
from workflow_scripts.core.records import (
    Cost,
    ItemsFile,
    ModelFacts,
    Protocol,
    Provenance,
    StrictModel,
    TaskFacts,
    Volatile,
)


@dataclass(frozen=True)
class Output:
    """What a model was asked and what it said."""

    item: str
    subject: str
    prompt_sha256: str
    choices: list[str]
    gold: int
    text: str | None  # what was generated, as it is
    loglikelihoods: list[float] | None  # of the letters, where nothing is generated
    new_tokens: int
    truncated: bool


class OutputsFacts(StrictModel):
    """The parts of the record that are known before anything is scored."""

    schema_version: Literal[1] = 1
    request: dict[str, Any]
    model: ModelFacts
    task: TaskFacts
    protocol: Protocol
    outputs: ItemsFile
    cost: Cost
    provenance: Provenance
    volatile: Volatile

    def stable_bytes(self) -> bytes:
        """Without the volatile block: equal for two runs that asked the same."""
        return canonical_json(self.model_dump(mode="json", exclude={"volatile"})).encode()


def _schema():
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("item", pa.string(), nullable=False),
            pa.field("subject", pa.string(), nullable=False),
            pa.field("prompt_sha256", pa.string(), nullable=False),
            pa.field("choices", pa.list_(pa.string()), nullable=False),
            pa.field("gold", pa.int64(), nullable=False),
            pa.field("text", pa.string()),
            pa.field("loglikelihoods", pa.list_(pa.float64())),
            pa.field("new_tokens", pa.int64(), nullable=False),
            pa.field("truncated", pa.bool_(), nullable=False),
        ]
    )


def write_outputs(path: Path, outputs: list[Output], **facts) -> OutputsFacts:
    """Write the outputs, then the file that vouches for them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table_path = path.with_suffix(".parquet")
    with atomic_path(table_path) as temporary:
        rows = [asdict(output) for output in outputs]
        pq.write_table(pa.Table.from_pylist(rows, _schema()), temporary, compression="zstd")
    written = OutputsFacts(
        outputs=ItemsFile(file=table_path.name, sha256=sha256_file(table_path), n=len(outputs)),
        **facts,
    )
    write_json(path, written.model_dump(mode="json"))
    return written


def read_outputs(path: Path) -> tuple[OutputsFacts, list[Output]]:
    """Strictly: a file that is not what was written is named."""
    import pyarrow.parquet as pq

    try:
        facts = OutputsFacts.model_validate(json.loads(path.read_text(encoding="utf-8")))
        table_path = path.with_name(facts.outputs.file)
        if sha256_file(table_path) != facts.outputs.sha256:
            raise UserError(f"{table_path} was altered: its sha256 is not the one in {path}.")
    except FileNotFoundError as error:
        raise UserError(f"{error.filename} is missing.") from None
    except ValidationError as error:
        raise UserError(
            f"{path}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}."
            for problem in error.errors()
        ) from None
    except ValueError as error:
        raise UserError(f"{path} is not a JSON file of ours ({error}).") from None
    return facts, [Output(**row) for row in pq.read_table(table_path).to_pylist()]
