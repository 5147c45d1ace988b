"""The tasks that harmony.budget pays for: chosen before anything runs, and kept in a file that every job reads.

Each Snakemake of a run reads this, so what computes the choice is imported only where it is computed.
"""

from pathlib import Path

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import read_sealed, sha256_file, sha256_json, write_sealed
from workflow_scripts.planning.wording import hours
from workflow_scripts.settings.load import Settings
from workflow_scripts.studies.harmony.budget_requests import (
    BudgetRequest,
    Choice,
    budget_request,
    panel_file,
)

FOLDER = Path("results/budget")


def choice_file(settings: Settings) -> Path:
    """One for each way that the section harmony was written: a look at another budget leaves those of a run alone."""
    return FOLDER / f"{sha256_json(settings.harmony.model_dump(mode='json'))[:12]}.json"


def within_budget(settings: Settings, *, chooses: bool) -> Settings:
    """The settings with the tasks that harmony.budget pays for.

    The Snakemake that was typed chooses, unless the choice stands on disk that was made of the same models,
    prices and panel; those inside jobs, which may see other machines, take what stands there.
    """
    if settings.harmony.budget is None:
        return settings
    return settings.model_copy(update={"paid_tasks": _choice(settings, chooses).tasks})


def _choice(settings: Settings, chooses: bool) -> Choice:
    file = choice_file(settings)
    kept = read_sealed(file)
    if chooses:
        asked, panel = budget_request(settings), Path(panel_file(settings))
        made_of = sha256_json([asked.as_params(), sha256_file(panel)])
        if kept is None or kept["made_of"] != made_of:
            kept = {"made_of": made_of, **_chosen(panel, asked).model_dump(mode="json")}
            write_sealed(file, kept)
    if kept is None:
        raise UserError(
            f"{file} is missing or altered, which says what harmony.budget pays for; expected the same"
            " command from the beginning."
        )
    return Choice.model_validate({key: kept[key] for key in Choice.model_fields})


def _chosen(panel: Path, asked: BudgetRequest) -> Choice:
    try:
        from workflow_scripts.studies.harmony.budget_table import choose
    except ModuleNotFoundError as error:
        raise UserError(
            f"harmony.budget is set, and to choose Snakemake needs {error.name} in its own environment;"
            " install it there."
        ) from None
    return choose(panel, asked)


def budget_told(settings: Settings) -> list[str]:
    """For the plan: what was chosen, at which price, and how wrong places are expected to be."""
    if settings.harmony.budget is None:
        return []
    asked, choice = budget_request(settings), _choice(settings, chooses=False)
    names, whole = asked.names, sum(asked.prices.values())
    price = sum(asked.prices[task] for task in choice.tasks)
    return [
        f"harmony.budget {asked.said} ({hours(asked.hours)} {asked.unit}): models are trained on"
        f" {len(choice.tasks)} of {len(asked.prices)} tasks, {', '.join(names[task] for task in choice.tasks)};"
        f" {hours(price)} of {hours(whole)} {asked.unit}, {100 * price / whole:.1f}%. By the panel"
        f" ({panel_file(settings)}), each of its families placed by the others, the PC1 of a new model is then"
        f" expected to be off by {choice.off:.0f} and its rank by {choice.ranks:.0f}; with the cheapest tasks in"
        f" their place PC1 by {choice.off_of_cheapest:.0f}, and trained on all tasks by {choice.off_of_all:.0f}, its"
        f" rank by {choice.ranks_of_all:.0f}. results/tables/harmony_budget.md has other prices."
    ]
