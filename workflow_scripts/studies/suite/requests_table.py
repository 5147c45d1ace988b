"""The table of requests; apart, so that asking how they stand loads no pandas."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.tables import write_table
from workflow_scripts.studies.suite.requests import NOTE, TITLE


def write_requests_table(rows: list[dict], csv: Path, md: Path, tex: Path) -> None:
    table = pd.DataFrame(rows).astype({"parameters": "Int64"})

    def show(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "Request": frame["request"],
                "Model": frame["name"],
                "Precision": frame["precision"],
                "Status": frame["status"],
                "Reason": frame["reason"],
                "Log": frame["log"],
            }
        )

    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=show)
