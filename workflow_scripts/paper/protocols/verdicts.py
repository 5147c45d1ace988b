"""Where a number was measured by another protocol than the published one, its verdict says so, and which."""

from collections.abc import Iterable, Mapping

import pandas as pd

from workflow_scripts.paper.protocols.differences import YES
from workflow_scripts.render.verdict import JUDGED, NOTHING, OTHER_PROTOCOL
from workflow_scripts.scores.published_protocols import PublishedProtocol
from workflow_scripts.studies.ranking.frame import DIRECT, TRAINED

# By study, checkpoint and task or run, and the grid's by protocol.
Reasons = dict[tuple[str, str, str, str], list[str]]
_WHOLE_GRID = ("rank", "PC1")


def with_other_protocols(
    rows: pd.DataFrame, differences: pd.DataFrame, protocols: Mapping[str, PublishedProtocol]
) -> pd.DataFrame:
    """The rows, where a difference that decides touches them without agreement and z."""
    reasons = _reasons(differences[differences["decides"] == YES])
    study_of = {source: name for name, one in protocols.items() for source in one.sources}
    found = []
    for row in rows.to_dict("records"):
        if row["verdict"] in JUDGED:
            touching = _touching(row, study_of[row["source"]], reasons)
            if touching:
                because = "; ".join(dict.fromkeys(touching))
                row |= NOTHING | {"difference": row["difference"]}
                row |= {"verdict": OTHER_PROTOCOL, "because": because}
        found.append(row)
    return pd.DataFrame(found, columns=rows.columns).astype(rows.dtypes)


def _reasons(differences: pd.DataFrame) -> Reasons:
    found: Reasons = {}
    for row in differences.itertuples():
        protocol = row.protocol if row.study == "harmony" else ""
        text = f"{row.what} ({row.ours} here, {row.published} there)".replace("_", " ")
        found.setdefault((row.study, row.of, row.item, protocol), []).append(text)
    return found


def _touching(row: Mapping, study: str, reasons: Reasons) -> Iterable[str]:
    if study == "harmony":
        protocol = DIRECT if row["metric"] == DIRECT else TRAINED
        if row["item"] in _WHOLE_GRID:  # what touches any cell of the protocol
            return [text for key, texts in reasons.items() if key[3] == protocol for text in texts]
        return reasons.get((study, row["of"], row["item"], protocol), [])
    # All subjects of MMLU were asked in one way.
    whole = reasons.get((study, row["of"], "", ""), [])
    return [*whole, *reasons.get((study, row["of"], row["item"], ""), [])]
