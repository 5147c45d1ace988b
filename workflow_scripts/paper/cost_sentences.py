"""What it all took, planned and actual, where the table of costs was made."""

from workflow_scripts.render.chapter import Study, Tables
from workflow_scripts.render.numbers import Number, Numbers, count, fixed, number


def cost_numbers(tables: Tables) -> list[Number]:
    table = tables.get("cost")
    if table is None or table.empty:
        return []
    most = table.loc[table["hours"].idxmax()]
    return [
        *number("cost.jobs", int(table["measured"].sum()), count, "jobs whose cost was measured"),
        *number("cost.hours", float(table["hours"].sum()), fixed(2), "hours that they took"),
        *number("cost.planned", float(table["planned_hours"].sum()), fixed(2), "hours planned"),
        *number("cost.memory", float(table["mem_mb"].max()), count, "most memory of one, in MB"),
        *number("cost.most", f"{most['rule']} ({most['study']})", str, "the rule that took most"),
        *number("cost.most_hours", float(most["hours"]), fixed(2), "hours that it took"),
    ]


def tell_cost(numbers: Numbers) -> list[str]:
    if "cost.hours" not in numbers:
        return []
    return [
        "{cost.jobs} jobs took {cost.hours} hours in all, where {cost.planned} were planned. The rule that"
        " took most of them is {cost.most}, with {cost.most_hours} hours. The largest job held"
        " {cost.memory} MB of memory."
    ]


COST = Study(
    key="cost",
    title="What did it take?",
    numbers=cost_numbers,
    tell=tell_cost,
)
