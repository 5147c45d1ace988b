"""Compare the published MMLU of chunked models with ours, subject by subject."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from workflow_scripts.render.frames import index_checkpoints
from workflow_scripts.studies.mmlu.by_subject import MACRO, read_published_scores

_PRINTED_TO = 1e-4  # resolution of the published scores


def compare_mmlu(
    published: dict[str, pd.DataFrame], ours: pd.DataFrame | None, checkpoints: Mapping[str, str]
) -> Iterator[dict]:
    """Compare each subject and the macro average of each published table with our checkpoint of that variant."""
    measured = index_checkpoints(ours, "subject")
    for source, table in published.items():
        checkpoint = checkpoints.get(source)
        printed = read_published_scores(table).set_index("subject")
        # Compute the standard error of the average from the printed ones of the subjects.
        errors = printed["stderr"].dropna()
        printed.loc[MACRO, "stderr"] = np.linalg.norm(errors) / len(errors)
        for subject, value, stderr in printed.itertuples():
            row = measured.get((checkpoint, subject), {})
            yield {
                "source": source,
                "of": checkpoint,
                "item": subject,
                "metric": "qem",
                "n": row.get("n"),
                "published": value,
                "published_stderr": stderr,
                "ours": row.get("qem"),
                "ours_stderr": row.get("qem_stderr"),
                "printed_to": _PRINTED_TO,
            }
