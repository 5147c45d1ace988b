"""All products: those of the studies, and those of the paper, which are made from them.

Like the declarations of the studies free of pandas and torch: each Snakemake of a run reads it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import write_text
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.paper.requests import (
    LeaderboardPage,
    leaderboard_page,
)
from workflow_scripts.settings.load import Settings
from workflow_scripts.studies.chunking import products as chunking
from workflow_scripts.studies.harmony import products as harmony
from workflow_scripts.studies.mmlu import products as mmlu
from workflow_scripts.studies.product import (
    Product,
    RecordsOf,
    Source,
    WhereMade,
    page,
    products,
)
from workflow_scripts.studies.prompts import products as prompts
from workflow_scripts.studies.suite import products as suite
from workflow_scripts.studies.training import products as training

MEASURED = (
    *(*chunking.MEASURED, *training.MEASURED, *harmony.MEASURED),
    *(*mmlu.MEASURED, *prompts.MEASURED, *suite.MEASURED),
)
MMLU_TABLE = "results/tables/mmlu_by_subject.csv"
PROMPTS_TABLE = "results/tables/prompt_runs.csv"
STAGES_TABLE = "results/tables/training_stages.csv"
_PAGE_TABLES = (*("suite_leaderboard", "suite_checks"),)


def chapter_files(settings: Settings) -> dict[str, list[str]]:
    """List the Markdown tables and PNG figures that the config has made, by chapter of the report."""
    forms = {"table": "md", "figure": "png"}
    chapters: dict[str, list[str]] = {}
    for product in wanted(settings):
        if product.chapter and product.kind in forms:
            file = product.files[forms[product.kind]]
            chapters.setdefault(product.chapter, []).append(file)
    return chapters


def product_captions(settings: Settings) -> dict[str, str]:
    return {one.name: one.caption for one in wanted(settings) if one.kind == "figure"}


def prose_files(settings: Settings, ending: str) -> list[str]:
    """Files beside the Snakefile that people edit: an edited sentence is told without being asked for."""
    return sorted(map(str, Path(settings.workflow_folder).glob(f"workflow_scripts/*/*/*{ending}")))


def _leaderboard(settings: Settings) -> LeaderboardPage:
    records = wanted_records(settings)
    return leaderboard_page(settings, measures=any(records.values()) or "suite" in records)


def _tabs(settings: Settings) -> dict[str, Source]:
    """The tables that the leaderboard page is made from; a study that the config has not has no tab."""
    tables = {
        one.name: one.files["csv"]
        for one in PRODUCTS
        if one.kind == "table" and one.name in _PAGE_TABLES and one.wanted(settings)
    }
    if harmony.ranks_models(settings):
        for name in ("harmony_leaderboard", "harmony_components"):
            tables[name] = f"results/tables/{name}.csv"
    if settings.prompts.models:
        tables["prompt_runs"] = PROMPTS_TABLE
    if training.training_records(settings):
        tables["training_stages"] = STAGES_TABLE
    if settings.mmlu_checkpoints():
        tables["mmlu_by_subject"] = MMLU_TABLE
    if settings.chunking.checkpoints:
        tables["chunking_plans"] = "results/tables/chunking_plans.csv"
    return tables


_OWN = (
    *products(
        "paper",
        page(
            "leaderboard",
            "The leaderboard, a tab for each study of the config.",
            "paper.leaderboard.write_leaderboard",
            inputs=_tabs,
            request=_leaderboard,
            version=5,
            caption="The leaderboard: a tab for each study.",
        ),
        wanted=_tabs,
        target="leaderboard",
        category="Report",
    ),
)
# Within a chapter of the report in this order.
PRODUCTS = (*(*suite.PRODUCTS, *_OWN),)
BY_NAME = {(one.kind, one.name): one for one in PRODUCTS}


def wanted(settings: Settings) -> list[Product]:
    """Those that the config has made."""
    return [one for one in PRODUCTS if one.wanted(settings)]


def wanted_records(settings: Settings) -> dict[str, list[str]]:
    """The records of each study; of the suite none, as its rows are known once they are checked."""
    return {one.name: one.records(settings) for one in MEASURED if one.wanted(settings)}


def inputs_of(
    product: Product, settings: Settings, records: Callable[[str], list[str]]
) -> dict[str, str | list[str]]:
    """The files that a product is made from; `records` are those of a study, by its name."""
    declared = product.sources(settings)
    found = {name: _files(source, settings, records) for name, source in declared.items()}
    return {name: files for name, files in found.items() if files is not None}


def _files(
    source: Source, settings: Settings, records: Callable[[str], list[str]]
) -> str | list[str] | None:
    match source:
        case RecordsOf(studies):
            return [path for study in studies for path in records(study)]
        case WhereMade(name):
            one = BY_NAME["table", name]
            return one.files["csv"] if one.wanted(settings) else None
    files = source(settings) if callable(source) else source
    return files if isinstance(files, str) else list(files)


def list_products(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Into a file that the terminal shows at the end of the command."""
    write_text(Path("results/products.txt"), "\n".join(request["lines"]) + "\n")


def listed(settings: Settings) -> list[str]:
    """A line a product: what to ask Snakemake for, and what it is."""
    files = [(one, one.files) for one in wanted(settings)]
    names = {of.get("md") or of.get("png") or of["html"]: one.sentence for one, of in files}
    widest = max(map(len, names))
    return [f"{name:<{widest}}  {sentence}" for name, sentence in names.items()]
