"""The numbers of the ablation: how many choices matter, and which matters most."""

import pandas as pd

from workflow_scripts.render.numbers import Values
from workflow_scripts.studies.chunking.ablation import is_sure, of_choices

# What is told of: the text that models are trained on first, and the letters that are likeliest.
_TOLD = {"wikitext": -1, "acc": 1}  # and which sign is better


def ablation_numbers(table: pd.DataFrame) -> Values:
    """Of the choices other than usual, after all their training: how many differ from the usual form."""
    trained = table["trained_tokens"].fillna(0) > 0
    if not trained.any():
        return {}
    last = table.loc[trained, "stage"].iloc[-1]
    table = of_choices(table[table["stage"] == last])
    values: Values = {}
    for measure, better in _TOLD.items():
        rows = table[table["measure"] == measure]
        if rows.empty:
            continue
        sure = rows[[is_sure(p) for p in rows["p_holm"]]]
        gains = better * sure["difference"]
        name = f"chunking.choice_{measure}"
        values[f"{name}_all"] = len(rows)
        values[f"{name}_better"] = (gains > 0).sum()
        values[f"{name}_worse"] = (gains < 0).sum()
        if not sure.empty:
            most = sure.loc[gains.abs().idxmax()]
            values[f"{name}_most"] = most["changed"]
            values[f"{name}_most_of"] = f"{most['model']}{most['variant']}"
            values[f"{name}_most_gain"] = gains.abs().max()
            values[f"{name}_most_helps"] = int(gains[most.name] > 0)
    return values
