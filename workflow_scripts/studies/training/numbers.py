"""The numbers of training: what the best trained checkpoint gained on wikitext."""

from dataclasses import replace

import pandas as pd

from workflow_scripts.core.ids import TUNED, CheckpointId
from workflow_scripts.render.numbers import Values
from workflow_scripts.studies.training.stages import UNTRAINED

_TEXT = "wikitext"


def training_numbers(table: pd.DataFrame) -> Values:
    """The trained chunks that read wikitext best, beside themselves untrained and the whole model."""
    table = table.set_index(table["model"] + table["variant"].fillna(""))
    trained = table[~table["stage"].isin([UNTRAINED, TUNED])].dropna(subset=[_TEXT])
    if trained.empty:
        return {}
    best = str(trained[_TEXT].idxmin())
    checkpoint = CheckpointId.parse(best)
    before, whole = str(replace(checkpoint, stages=())), checkpoint.model
    values: Values = {"chunking.best": best}
    for key, name in (("best", best), ("before", before), ("whole", whole)):
        if name in table.index:
            values[f"chunking.{key}_wikitext"] = table.at[name, _TEXT]
            values[f"chunking.{key}_wikitext_stderr"] = table.at[name, f"{_TEXT} stderr"]
    return values
