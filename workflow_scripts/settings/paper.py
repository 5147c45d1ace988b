"""What the paper's own tables, its report and the leaderboard's page are asked."""

from typing import Any, Literal

from pydantic import Field

from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.mmlu import published_table
from workflow_scripts.settings.prompts.tables import (
    PromptComparison,
    prompt_comparison,
    prompt_tables,
)
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.suite_tables import suite_tables


class MmluComparison(StepRequest):
    """What decides whether a published score on MMLU can be compared with ours."""

    source: str
    shots: int
    max_items_per_subject: int | None
    checkpoints: dict[str, str] = Field(description="Those of its variant, by published table")
    recipes: dict[str, str] = Field(
        description="Of the trained ones those that are not the published one's, by checkpoint"
    )


class HarmonyComparison(StepRequest):
    """What decides whether the published leaderboard can be compared with ours."""

    source: str
    differs: str | None = Field(description="What differs from the published protocol")


class Reproduction(StepRequest):
    mmlu: MmluComparison
    prompts: PromptComparison
    harmony: HarmonyComparison


class CostTable(StepRequest):
    snakefile: str
    config: dict[str, Any]
    cluster: Cluster


class LeaderboardPage(StepRequest):
    source: str
    seed: int
    tasks: tuple[dict[str, Any], ...] = Field(description="Of the Harmony grid")


class Report(StepRequest):
    form: Literal["page", "paper"]
    tables: dict[str, dict[str, Any]] = Field(description="What the tables were asked, by name")
    links: dict[str, str] = Field({}, description="Other pages beside this one")


def reproduction(settings: Settings) -> Reproduction:
    differs = settings.training.unpublished(settings.source)
    tables = {
        published_table(one, settings.source): str(one) for one in settings.mmlu_checkpoints()
    }
    return Reproduction(
        mmlu=MmluComparison(
            source=settings.source,
            shots=settings.mmlu.shots,
            max_items_per_subject=settings.mmlu.max_items_per_subject,
            checkpoints={table: id for table, id in tables.items() if table},
            recipes={
                str(checkpoint): differs[stage]
                for checkpoint in settings.staged_checkpoints()
                for stage in checkpoint.stages
                if stage in differs
            },
        ),
        prompts=prompt_comparison(settings),
        harmony=HarmonyComparison(
            source=settings.source,
            differs=settings.harmony.differs_from_published(settings.source),
        ),
    )


def table_requests(settings: Settings) -> dict[str, StepRequest]:
    """By table what it is asked; of one that is not among these nothing."""
    return {
        "prompt_runs": prompt_tables(settings),
        "prompt_runs_by_subject": prompt_tables(settings),
        "suite_leaderboard": suite_tables(settings),
        "suite_checks": suite_tables(settings),
        "reproduction": reproduction(settings),
    }


def report(settings: Settings, form: str, links: dict[str, str]) -> Report:
    asked = {name: request.as_params() for name, request in table_requests(settings).items()}
    return Report(form=form, tables=asked, links=links)


def shown_config(settings: Settings) -> dict[str, Any]:
    """The config as it was read, without the rows of its tables."""
    return settings.model_dump(mode="json", exclude={"models", "tasks", "prompt_runs", "explain"})
