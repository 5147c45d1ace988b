"""A table as its rule writes it, and as whoever reads its files has it."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow_scripts.render.tables import Table
from workflow_scripts.settings.request import Nothing, StepRequest

NOTHING = Nothing()


@dataclass(frozen=True)
class Written:
    csv: Path
    again: pd.DataFrame
    md: str
    tex: str


def written(
    table: Table,
    frame: pd.DataFrame,
    folder: Path,
    asked: StepRequest = NOTHING,
) -> Written:
    files = {kind: folder / f"{table.name}.{kind}" for kind in ("csv", "md", "tex")}
    table.write(frame, asked, **files)
    texts = (files[kind].read_text(encoding="utf-8") for kind in ("md", "tex"))
    return Written(files["csv"], table.read(files["csv"]), *texts)
