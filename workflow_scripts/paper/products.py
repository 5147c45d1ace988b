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
    PublishedCells,
    Report,
    TablesTold,
    ToldFigure,
    ToldTable,
    leaderboard_page,
    published_cells,
    reproduction,
)
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.mmlu import PUBLISHED
from workflow_scripts.studies.chunking import products as chunking
from workflow_scripts.studies.harmony import products as harmony
from workflow_scripts.studies.harmony.requests import harmony_comparison
from workflow_scripts.studies.mmlu import products as mmlu
from workflow_scripts.studies.product import (
    Kind,
    Product,
    RecordsOf,
    Source,
    WhereMade,
    import_folders,
    page,
    products,
    published,
    records_of,
    table,
)
from workflow_scripts.studies.prompts import products as prompts
from workflow_scripts.studies.ranking import products as grids
from workflow_scripts.studies.recovery import products as recovery
from workflow_scripts.studies.suite import products as suite
from workflow_scripts.studies.training import products as training

MEASURED = (
    *(*chunking.MEASURED, *training.MEASURED, *harmony.MEASURED),
    *(*mmlu.MEASURED, *prompts.MEASURED, *suite.MEASURED),
)
_GRID = ("harmony_leaderboard.csv", "harmony_cells.csv")
_PUBLISHED = (*(f"{name}.csv" for name in dict.fromkeys(PUBLISHED.values())), "prompt_runs.csv")


def told(settings: Settings) -> Report:
    """The tables and figures of the report, chapter by chapter."""
    tables, figures = (_reported(settings, kind) for kind in ("table", "figure"))
    return Report(
        tables={
            one.name: ToldTable(
                table=one.module,
                request=one.request(settings).as_params(),
                chapter=one.chapter,
            )
            for one in tables
        },
        figures={one.name: ToldFigure(caption=one.caption, chapter=one.chapter) for one in figures},
    )


def tables_told(settings: Settings) -> TablesTold:
    return TablesTold(tables=told(settings).tables)


def told_from(settings: Settings) -> dict[str, Source]:
    """What the page and the paper are told from."""
    return {
        "tables": [one.files["csv"] for one in _reported(settings, "table")],
        "figures": [one.files["png"] for one in _reported(settings, "figure")],
        "numbers": "results/tables/numbers.json",
        "provenance": "results/report/provenance.json",
        "prose": prose_files(settings, ".md.j2"),
    }


def prose_files(settings: Settings, ending: str) -> list[str]:
    """Files beside the Snakefile that people edit: an edited sentence is told without being asked for."""
    return sorted(map(str, Path(settings.workflow_folder).glob(f"workflow_scripts/*/*/*{ending}")))


def _report(settings: Settings) -> Report:
    return told(settings).model_copy(update={"links": {"Leaderboard": "leaderboard.html"}})


def _reported(settings: Settings, kind: Kind) -> list[Product]:
    return [one for one in wanted(settings) if one.kind == kind and one.chapter]


def _leaderboard(settings: Settings) -> LeaderboardPage:
    records = wanted_records(settings)
    return leaderboard_page(settings, measures=any(records.values()) or "suite" in records)


def _tabs(settings: Settings) -> dict[str, Source]:
    """What the leaderboard's page is made from, by tab and name; a study that the config has not has no tab."""
    tables = [one for one in PRODUCTS if one.kind == "table"]
    made = {one.name: one.files["csv"] for one in tables if one.wanted(settings)}
    found: dict[str, Source] = {}
    if "suite_leaderboard" in made:
        found["suite_tab"] = "results/report/tabs/suite.json"
    if "harmony_leaderboard" in made:
        found["harmony_leaderboard"] = made["harmony_leaderboard"]
        found["harmony_components"] = made["harmony_components"]
        found["harmony_scores"] = "results/scores/harmony.parquet"
        found["harmony_imports"] = import_folders(settings)
    if "prompt_runs" in made:
        found["prompts_runs"] = made["prompt_runs"]
        found["prompts_by_subject"] = made["prompt_runs_by_subject"]
        found["prompts_records"] = records_of("prompts")
    chunked = {"plans": "chunking_plans", "stages": "training_stages", "mmlu": "mmlu_by_subject"}
    if made.keys() & set(chunked.values()):
        found |= {
            f"chunked_{name}": [made[of]] if of in made else [] for name, of in chunked.items()
        }
    return found


_OWN = (
    *products(
        "paper",
        table(
            "reproduction",
            "Each published number beside ours, with a verdict.",
            "paper.reproduction",
            inputs={
                "mmlu_by_subject": WhereMade("mmlu_by_subject"),
                "prompt_runs": WhereMade("prompt_runs"),
                "harmony_leaderboard": WhereMade("harmony_leaderboard"),
                "published": published(*_PUBLISHED, *_GRID),
                "protocols": published("protocols.yaml"),
                "protocol_differences": "results/tables/protocol_differences.csv",
            },
            request=reproduction,
            version=3,
        ),
        table(
            "reproduction_by_task",
            "Scores after training beside the published ones, each task over all models.",
            "paper.reproduction_by_task",
            inputs={
                "reproduction": "results/tables/reproduction.csv",
                "published": published(*_GRID),
            },
            request=harmony_comparison,
            version=2,
        ),
        table(
            "protocol_differences",
            "Where the protocol of this run is not the published one.",
            "paper.protocols.differences",
            inputs={
                **{
                    study: records_of(study)
                    for study in ("harmony", "mmlu", "chunking", "latency", "prompts")
                },
                "trainings": training.mmlu_trainings,
                "protocols": published("protocols.yaml"),
            },
            request=published_cells,
            version=3,
        ),
        chapter="reproduction",
    ),
    *products(
        "suite",
        table(
            "suite_protocol",
            "Where the suite is not asked as on the Open LLM Leaderboard.",
            "paper.protocols.suite",
            inputs={"suite": records_of("suite"), "protocols": published("protocols.yaml")},
            request=lambda settings: PublishedCells(),
        ),
        wanted=suite.PRODUCTS[0].wanted,
    ),
    *products(
        "paper",
        page(
            "index",
            "The report: all studies on one page.",
            "paper.report.report",
            inputs=lambda settings: {
                **told_from(settings),
                "sources": published("sources.csv"),
                "pages": "results/report/leaderboard.html",
            },
            request=_report,
            caption=(
                "The report of the run: each study in sentences, with its numbers, figures and"
                " tables, on one page; what is missing and why, and where everything comes from."
            ),
        ),
        category="Report",
    ),
    *products(
        "paper",
        page(
            "leaderboard",
            "The leaderboard, a tab for each study of the config.",
            "paper.leaderboard.write_leaderboard",
            inputs=lambda settings: {
                **_tabs(settings),
                "citations": lambda settings: settings.resource("citations.tsv"),
            },
            request=_leaderboard,
            version=5,
            caption="The leaderboard: a tab for each study, and what each row is made of.",
        ),
        wanted=_tabs,
        target="leaderboard",
        category="Report",
    ),
)
# Within a chapter of the report in this order.
PRODUCTS = (
    *(*grids.PRODUCTS, *harmony.PRODUCTS),
    *(*chunking.SUMMARY, *chunking.ABLATION, *training.PRODUCTS),
    *(*chunking.UNTRAINED, *mmlu.PRODUCTS, *chunking.SEARCH, *recovery.PRODUCTS),
    *(*prompts.PRODUCTS, *suite.PRODUCTS, *_OWN),
)
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
