"""What it all took, where the table of costs was made."""

from workflow_scripts.reporting.report.study import Study

COST = Study(
    key="cost",
    title="What did it take?",
    tables=("cost",),
    figures=("cost",),
    numbers=lambda tables: [],
    tell=lambda numbers: [],
)
