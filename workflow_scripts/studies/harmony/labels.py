"""How protocols and models are called and coloured in the figures of the Harmony study."""

import pandas as pd

from workflow_scripts.render.figures import PALETTE
from workflow_scripts.studies.harmony.grid import FLOORED, OWN, PROTOCOLS

COLOURS = {"direct": PALETTE[1], "few_shot": PALETTE[2], "train_before_test": PALETTE[0]}
MARKERS = {"direct": "o", "few_shot": "^", "train_before_test": "s"}
IMPORTED = "*"
MARK_NOTE = f"{IMPORTED} imported scores"


def shown_protocols(table: pd.DataFrame) -> list[str]:
    """Those of the table in the order of the study; floored scores are for tables."""
    found = set(table["protocol"])
    return [protocol for protocol in PROTOCOLS if protocol in found and protocol != FLOORED]


def titles(table: pd.DataFrame) -> dict[str, str]:
    """Of each protocol, with what kind of scores it shows after training."""
    column = "origins" if "origins" in table else "origin"
    found = {}
    for protocol, rows in table.groupby("protocol"):
        origins = {name for cell in rows[column].dropna() for name in cell.split(" ")}
        kind = "raw" if origins <= {OWN} else "ours raw" if OWN in origins else "imported"
        scores = f" ({kind} scores)" if protocol == "train_before_test" else ""
        found[protocol] = PROTOCOLS[protocol] + scores
    return found


def short_names(table: pd.DataFrame) -> pd.Series:
    """Models without their organisation; those with imported scores marked."""
    names = table["model"].str.split("/").str[-1] + table["variant"].astype("string").fillna("")
    return names.where(table["origin"] == OWN, names + IMPORTED)


def families(table: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Colour and marker of each family; models that the models table lacks are 'other'."""
    names = sorted(set(table["family"].dropna()))
    shapes = "osD^vPX"
    known = {
        name: (PALETTE[at % len(PALETTE)], shapes[at % len(shapes)])
        for at, name in enumerate(names)
    }
    return known | {"other": ("0.6", "h")}
