"""The tasks that harmony.budget pays for: chosen before anything runs, and kept in a file that every job reads.

Each Snakemake of a run reads this, so what computes the choice is imported only where it is computed.
"""

import os
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import read_sealed, sha256_file, sha256_json, write_sealed
from workflow_scripts.core.ids import in_paths
from workflow_scripts.planning.wording import hours
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import harmony_records
from workflow_scripts.studies.harmony.budget_requests import (
    BudgetRequest,
    Choice,
    LooksRequest,
    budget_request,
    panel_file,
)
from workflow_scripts.studies.ranking.requests import grid_request

FOLDER = Path("results/budget")
_PRICED = {"prices", "hours", "unit"}


def choice_file(settings: Settings) -> Path:
    """One for each way that the section harmony was written: a look at another budget leaves those of a run alone."""
    return FOLDER / f"{sha256_json(settings.harmony.model_dump(mode='json'))[:12]}.json"


def within_budget(settings: Settings, *, chooses: bool) -> Settings:
    """The settings with the tasks that harmony.budget pays for; with harmony.stop, those whose turn has come.

    The Snakemake that was typed chooses, unless the choice stands on disk that was made of the same models,
    prices and panel, and goes on by a task where the last look was not enough; those inside jobs, which may
    see other machines, take what stands there.
    """
    if settings.harmony.budget is None:
        return settings
    kept = _kept(settings, chooses)
    return settings.model_copy(update={"paid_tasks": _choice(kept).tasks[: kept["begun"]]})


def _kept(settings: Settings, chooses: bool) -> dict[str, Any]:
    """The choice, what it was made of, and how many of its tasks are begun."""
    file = choice_file(settings)
    kept = read_sealed(file)
    if chooses:
        asked, panel, before = budget_request(settings), Path(panel_file(settings)), kept
        unpriced, of_panel = asked.model_dump(mode="json", exclude=_PRICED), sha256_file(panel)
        made_of = {
            "made_of": sha256_json([asked.as_params(), of_panel]),
            "about": sha256_json([unpriced, of_panel]),
        }
        if kept is None or not _stands(settings, kept, made_of):
            kept = {**made_of, **_chosen(panel, asked).model_dump(mode="json")}
        kept = {**kept, "begun": _begun(settings, kept)}
        if kept != before:
            write_sealed(file, kept)
    if kept is None:
        raise UserError(
            f"{file} is missing or altered, which says what harmony.budget pays for; expected the same"
            " command from the beginning."
        )
    return kept


def _stands(settings: Settings, kept: dict[str, Any], made_of: dict[str, str]) -> bool:
    """Other prices alone, as another machine has, choose anew only until one of the tasks is trained on."""
    if kept["made_of"] == made_of["made_of"]:
        return True
    if (
        kept.get("about") != made_of["about"]
    ):  # of an older version it says only what it was made of
        return False
    trained = settings.model_copy(update={"paid_tasks": _choice(kept).tasks})
    models = in_paths(settings.harmony.models)
    return any(map(os.path.exists, harmony_records(trained, models, "train_before_test")))


def _choice(kept: dict[str, Any]) -> Choice:
    return Choice.model_validate({key: kept[key] for key in Choice.model_fields})


def _begun(settings: Settings, kept: dict[str, Any]) -> int:
    """All tasks at once, or with harmony.stop those that were looked at, and one more unless that was enough."""
    most = len(kept["tasks"])
    if settings.harmony.stop is None:
        return most
    for begun in range(1, most):
        look = read_sealed(look_file(settings, begun))
        if look is None or look["made_of"] != kept["made_of"] or look["enough"]:
            return begun
    return most


def look_file(settings: Settings, begun: int | None = None) -> Path:
    """Whether what is known after so many tasks is enough; None are those that are begun."""
    file = choice_file(settings)
    return file.with_name(f"{file.stem}_look{begun or len(settings.paid_tasks or ())}.json")


def choice_looked_at(settings: Settings) -> dict[str, str]:
    """Of which choice a look is: it says nothing of another one."""
    return {"made_of": _kept(settings, chooses=False)["made_of"]}


def looks_request(settings: Settings) -> LooksRequest:
    """Without harmony.stop of no look."""
    stop = settings.harmony.stop
    return LooksRequest(
        **dict(grid_request(settings)),
        turn=settings.paid_tasks or (),
        most=len(_kept(settings, chooses=False)["tasks"]) if stop else 0,
        prices=budget_request(settings).prices,
        half_width=stop and stop.half_width,
        order=stop.order if stop else (),
    )


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
    asked, choice = budget_request(settings), _choice(_kept(settings, chooses=False))
    names, whole = asked.names, sum(asked.prices.values())
    price = sum(asked.prices[task] for task in choice.tasks)
    told = [
        f"harmony.budget {asked.said} ({hours(asked.hours)} {asked.unit}): models are trained on"
        f" {len(choice.tasks)} of {len(asked.prices)} tasks, {', '.join(names[task] for task in choice.tasks)};"
        f" {hours(price)} of {hours(whole)} {asked.unit}, {100 * price / whole:.1f}%. By the panel"
        f" ({panel_file(settings)}), each of its families placed by the others, the PC1 of a new model is then"
        f" expected to be off by {choice.off:.0f} and its rank by {choice.ranks:.0f}; with the cheapest tasks in"
        f" their place PC1 by {choice.off_of_cheapest:.0f}, and trained on all tasks by {choice.off_of_all:.0f}, its"
        f" rank by {choice.ranks_of_all:.0f}. results/tables/harmony_budget.md has other prices."
    ]
    begun = settings.paid_tasks or ()
    if settings.harmony.stop and begun:
        so_far = sum(asked.prices[task] for task in begun)
        told.append(
            f"harmony.stop: they are trained on one task after the other. This run has {len(begun)} of"
            f" {len(choice.tasks)}, the last of them {names[begun[-1]]}: {hours(so_far)} {asked.unit},"
            f" {100 * so_far / whole:.1f}% of all tasks." + _expected_looks(choice, asked)
        )
    return told


def _expected_looks(choice: Choice, asked: BudgetRequest) -> str:
    if asked.half_width is None:
        return ""
    half = f" With as many test items, half of the panel's models would {{}} known to {asked.half_width:g}"
    if choice.looks is None:
        return half.format("not be") + " from all of these."
    price = sum(asked.prices[task] for task in choice.tasks[: choice.looks])
    share = 100 * price / sum(asked.prices.values())
    return half.format("be") + f" after {choice.looks}, {share:.1f}%."
