"""The table of requests; apart, so that asking how they stand loads no pandas."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import Table
from workflow_scripts.settings.request import Nothing
from workflow_scripts.studies.suite.requests import read_checks, requests

NOTE = (
    "Refused: the request was checked and costs nothing until it is mended. Unchecked:"
    " the hub could not be asked about it; the next run asks again. Left aside: its model is of"
    " another source than this config's. Pending: accepted, and"
    " not finished. Failed: some of its tasks could not be measured; the reason is"
    " the first one's, and the next run tries them again."
)
COLUMNS = columns(
    ("text", "request"),
    ("maybe", "name precision model_type weight_type protocol note commit licence"),
    ("whole", "parameters"),
    ("text", "status"),
    ("maybe", "reason log"),
)


def requests_table(checks: Path) -> pd.DataFrame:
    rows = requests(read_checks(checks))
    return pd.DataFrame(rows, columns=list(COLUMNS.named)).astype({"parameters": "Int64"})


def _show(frame: pd.DataFrame, _: Nothing) -> pd.DataFrame:
    shown = ("request", "name", "precision", "status", "reason", "log")
    return frame[list(shown)].rename(columns=str.capitalize).rename(columns={"Name": "Model"})


TABLE = Table(
    name="suite_requests",
    title="Requests for the leaderboard",
    note=NOTE,
    columns=COLUMNS,
    asks=Nothing,
    make=lambda inputs, _: requests_table(inputs.one("checks")),
    show=_show,
)
