"""What a model said in one run, kept apart from what is made of it.

A JSON file about the run and, beside it, its items, of which nothing is judged yet. Scoring reads
nothing else, so a changed parser needs no model.
"""

import json
from pathlib import Path
from typing import Any, Literal

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import canonical_json, sha256_file, write_json
from workflow_scripts.core.items import Item, read_items, write_items
from workflow_scripts.core.records import (
    Cost,
    ItemsFile,
    ModelFacts,
    Protocol,
    Provenance,
    StrictModel,
    TaskFacts,
    Volatile,
    problems_named,
)


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


def write_outputs(path: Path, outputs: list[Item], **facts) -> OutputsFacts:
    """Write the outputs, then the file that vouches for them."""
    table = path.with_suffix(".parquet")
    write_items(table, outputs)
    file = ItemsFile(file=table.name, sha256=sha256_file(table), n=len(outputs))
    written = OutputsFacts(outputs=file, **facts)
    write_json(path, written.model_dump(mode="json"))
    return written


def read_outputs(path: Path) -> tuple[OutputsFacts, list[Item]]:
    """Strictly: a file that is not what was written is named."""
    with problems_named(path):
        facts = OutputsFacts.model_validate(json.loads(path.read_text(encoding="utf-8")))
        table = path.with_name(facts.outputs.file)
        if sha256_file(table) != facts.outputs.sha256:
            raise UserError(f"{table} was altered: its sha256 is not the one in {path}.")
    rows = read_items(table).to_pylist()
    return facts, [Item(**row | {"scores": dict(row["scores"])}) for row in rows]
