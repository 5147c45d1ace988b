"""What the paper's own tables, its report and the leaderboard's page are asked."""

from typing import Any

from pydantic import Field

from workflow_scripts.settings.grids import OWN_GRID
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.margins import Margins
from workflow_scripts.settings.mmlu import MmluComparison, published_but_for_form, published_table
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.studies.harmony.requests import HarmonyComparison, harmony_comparison
from workflow_scripts.studies.prompts.requests import PromptComparison, prompt_comparison
from workflow_scripts.studies.ranking.grid_settings import RankedTask, list_shown_tasks
from workflow_scripts.studies.suite.table_requests import SuiteAbout, suite_about


class PublishedCells(StepRequest):
    """Which measurements beside those of the grid have a published number."""

    checkpoints: tuple[str, ...] = Field(
        (), description="Of MMLU, and those that are cut and trained like them in another form"
    )
    runs: dict[str, str] = Field(
        {}, description="Of the prompt runs: what the published ones call it"
    )


class Reproduction(StepRequest):
    mmlu: MmluComparison
    prompts: PromptComparison
    harmony: HarmonyComparison
    margins: Margins


class LeaderboardPage(StepRequest):
    source: str | None = Field(description="None where nothing is measured here")
    seed: int
    tasks: tuple[RankedTask, ...] = Field(description="Of the Harmony grid")
    protocols: dict[str, str] = Field(description="Of that grid, and how they are called")
    rests_on: dict[str, tuple[str, ...]] = Field(
        {},
        description="By tab: its tasks, harness and study, as resources/citations.tsv names them",
    )
    suite: SuiteAbout | None = None


def leaderboard_page(settings: Settings, *, measures: bool) -> LeaderboardPage:
    """`measures` is false where all scores come from elsewhere."""
    return LeaderboardPage(
        source=settings.source if measures else None,
        seed=settings.seed,
        tasks=list_shown_tasks(settings),
        protocols=settings.grids[OWN_GRID].names,
        rests_on={
            "suite": ("suite", "lm_eval", *(one.task for one in settings.suite.tasks)),
            "harmony": ("harmony", "lm_eval", *settings.harmony.tasks),
            "prompts": ("mmlu",),
            "chunked": ("lighteval", "mmlu_helm"),
        },
        suite=suite_about(settings),
    )


def published_tables(settings: Settings) -> dict[str, str | None]:
    """Name the published MMLU table of the same variant of each evaluated checkpoint."""
    return {
        str(checkpoint): published_table(checkpoint, settings.source)
        for checkpoint in settings.mmlu_checkpoints()
    }


def reproduction(settings: Settings) -> Reproduction:
    return Reproduction(
        mmlu=MmluComparison(
            source=settings.source,
            checkpoints={
                table: checkpoint
                for checkpoint, table in published_tables(settings).items()
                if table
            },
        ),
        prompts=prompt_comparison(settings),
        harmony=harmony_comparison(settings),
        margins=settings.margins,
    )


def published_cells(settings: Settings) -> PublishedCells:
    runs = prompt_comparison(settings).runs
    return PublishedCells(
        checkpoints=tuple(
            str(one)
            for one in settings.mmlu_checkpoints()
            if published_but_for_form(one, settings.source)
        ),
        runs={ours: published for published, ours in runs.items()},
    )


def shown_config(settings: Settings) -> dict[str, Any]:
    """The config as it was read, without the rows of its tables."""
    left_out = {"models", "tasks", "grids", "prompt_runs", "explain", "workflow_folder", "merged"}
    return settings.model_dump(mode="json", exclude={*left_out, "separate"})
