"""List where a run's protocol differs from the published one (resources/published/protocols.yaml)."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.records import FailedRecord, Record, read_record_numbers
from workflow_scripts.render.tables import write_table
from workflow_scripts.render.verdict import COMPARABLE_VERDICTS, OTHER_PROTOCOL
from workflow_scripts.studies.ranking.grid_tables import DIRECT

NOT_RECORDED = "not recorded"
NOTE = (
    "Differences between this run's protocol, read from its records, and the published ones, as far as these are"
    " known. Cells: number of measurements affected, named in the CSV. A number that a difference affects gets"
    " 'other protocol' in place of a verdict in the table reproduction, but for a difference with a reason why it does"
    " not decide. Everything else is as published."
)
MAX_CHARACTERS = 100  # of a value in the tables
_COLUMNS = ["study", "what", "published", "ours", "because", "known_from"]

# The study of each published table, by the beginning of the table's name.
_STUDIES = {"harmony": "harmony", "mmlu": "mmlu", "prompt": "prompts"}


def compute_differences(
    records: Iterable[Record | FailedRecord], protocols: Mapping[str, Any], runs: Mapping[str, str]
) -> pd.DataFrame:
    """Compute one row per difference of a record from its study's published protocol.

    `protocols` has by study what is known of the published protocol; the comment of resources/published/protocols.yaml
    says what its keys mean. `runs` maps each published prompt run to ours. The column `of` has the model.
    """
    run_names = {ours: f"run {published}" for published, ours in runs.items()}
    rows = []
    for record in records:
        if isinstance(record, FailedRecord) or record.study not in protocols:
            continue
        published = protocols[record.study]
        item = run_names.get(record.task.name, record.task.name)
        if item not in published["cells"].get(record.protocol.name, []):
            continue
        cell = {"study": record.study, "of": record.model.id, "item": item}
        cell["protocol"] = record.protocol.name
        sections = record.model_dump(mode="json")
        # A later fact about the same thing replaces the general one.
        facts = {
            fact["what"]: fact
            for fact in published["facts"]
            if item in fact.get("only", [item])
            and any(part in record.model.id for part in fact.get("models", [""]))
        }
        for fact in facts.values():
            section, *keys = fact.get("key", "study").format(task=record.task.name).split(".")
            ours = fact.get("ours", _get_value(sections[section], keys))
            if sections[section] is not None and ours != fact["is"]:
                values = {
                    "published": str(fact["is"])[:MAX_CHARACTERS],
                    "ours": str(ours)[:MAX_CHARACTERS],
                }
                rows.append(fact | cell | values)
    return pd.DataFrame(rows, columns=["of", "item", "protocol", *_COLUMNS])


def _get_value(value: Any, keys: Sequence[str]) -> Any:
    """Return the value at nested keys, or NOT_RECORDED."""
    for key in keys:
        value = value.get(key, NOT_RECORDED) if isinstance(value, dict) else NOT_RECORDED
    return value


def withhold_verdicts(rows: pd.DataFrame, differences: pd.DataFrame) -> pd.DataFrame:
    """Replace verdicts that a decisive protocol difference affects by OTHER_PROTOCOL and that difference."""
    decisive = differences[differences["because"].isna()]
    rows = rows.copy()
    for index, row in rows[rows["verdict"].isin(COMPARABLE_VERDICTS)].iterrows():
        affects = decisive["study"] == _STUDIES[row["source"].partition("_")[0]]
        affects &= (decisive["protocol"] == DIRECT) == (row["metric"] == DIRECT)
        affects &= decisive["of"] == row["of"]
        # MMLU's differences apply to all subjects.
        affects &= decisive["item"].isin([row["item"], "mmlu_helm"])
        if affects.any():
            template = "{what} ({ours} here, {published} there)"
            facts = decisive[affects].to_dict("records")
            reasons = [template.format(**fact) for fact in facts]
            rows.loc[index, ["error", "z", "smallest"]] = np.nan
            rows.loc[index, "verdict"] = OTHER_PROTOCOL
            rows.loc[index, "because"] = "; ".join(dict.fromkeys(reasons))
    return rows


_SHOWN = {
    "Study": "{study}",
    "What": "{what}",
    "Published": "{published}",
    "Ours": "{ours}",
    "Cells": "{cells:,d}",
    "Does not decide, because": "{because}",
    "Known from": "{known_from}",
}


def main(records: list[Path], protocols: Path, table: list[Path], runs: Mapping[str, str]) -> None:
    """Write the table: each affected measurement in the CSV, their number in the other files."""
    published = yaml.safe_load(protocols.read_text(encoding="utf-8"))
    differences = compute_differences(map(read_record_numbers, records), published, runs)
    counts = differences.value_counts(_COLUMNS, sort=False, dropna=False).rename("cells")
    title = "Where this run's protocol is not the published one"
    write_table(differences, table, title=title, note=NOTE, shown=_SHOWN, rows=counts.reset_index())


if "snakemake" in globals():
    run_job(main, snakemake)
