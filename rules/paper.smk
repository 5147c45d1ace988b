"""Merge the scores of all studies, and write the report, the paper and the leaderboard page."""

from workflow_scripts.paper.requests import (
    leaderboard_page,
    list_published_cells,
    describe_comparisons,
    dump_shown_config,
)
from workflow_scripts.settings.mmlu import PUBLISHED

PUBLISHED_MMLU = list(dict.fromkeys(PUBLISHED.values()))
PUBLISHED_GRID = ["harmony_leaderboard", "harmony_cells"]


# The tables and figures of each chapter of the report, in this order.
CHAPTERS = {
    grid: list_report_files(list_results(grid))
    for grid in OTHERS
    if SETTINGS.grids[GRIDS[grid]].in_report
}
for chapter, outputs in (
    ("harmony", RANKED),
    ("chunking", rules.chunking_quality.output if CHECKPOINTS else []),
    ("chunking", rules.training_stages.output if "training" in RECORDS else []),
    ("chunking", UNTRAINED_PLANS),
    ("chunking", rules.mmlu_by_subject.output if MMLU_CHECKPOINTS else []),
    ("prompts", rules.prompt_runs.output if PROMPT_CHECKPOINTS else []),
    ("suite", rules.suite_leaderboard.output if "suite" in RECORDS else []),
    ("suite", rules.suite_requests.output if "suite" in RECORDS else []),
):
    CHAPTERS.setdefault(chapter, []).extend(list_report_files(outputs))


# The CSV file of each table in the chapters, keyed by the table's name.
TABLES = {
    Path(path).stem: path.replace(".md", ".csv")
    for files in CHAPTERS.values()
    for path in files
    if path.endswith(".md")
}


rule protocol_differences:
    """Tabulate where the protocol of this run differs from the published protocol."""
    input:
        records=lambda wildcards: [
            path
            for study in ("harmony", "mmlu", "chunking", "latency", "prompts", "suite")
            for path in list_study_records(study, wildcards)
        ],
        protocols=SETTINGS.resource("published/protocols.yaml"),
    output:
        table=multiext("results/tables/protocol_differences", ".csv", ".md", ".tex"),
    log:
        "logs/protocol_differences.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=7,
        arguments=list_published_cells(SETTINGS),
    script:
        "../workflow_scripts/paper/protocol_differences.py"


rule reproduction:
    """Compare each published number with ours, with a verdict."""
    input:
        ours=[
            TABLES[name]
            for name in ("mmlu_by_subject", "prompt_runs", "harmony_leaderboard")
            if name in TABLES
        ],
        published=[
            SETTINGS.resource(f"published/{name}.csv")
            for name in (*PUBLISHED_MMLU, "prompt_runs", *PUBLISHED_GRID)
        ],
        protocols=SETTINGS.resource("published/protocols.yaml"),
        differences="results/tables/protocol_differences.csv",
    output:
        table=multiext("results/tables/reproduction", ".csv", ".md", ".tex"),
    log:
        "logs/reproduction.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=4,
        arguments=describe_comparisons(SETTINGS),
    script:
        "../workflow_scripts/paper/reproduction.py"


CHAPTERS["reproduction"] = list_report_files(
    [*rules.reproduction.output, *rules.protocol_differences.output]
)
REPORTED = [path for files in CHAPTERS.values() for path in files]
# The caption file of each figure; the same figure of different grids shares a caption.
CAPTIONS = {
    figure: f"{workflow.basedir}/docs/captions/{re.sub(f'^({match_any(GRIDS)})_', '', figure)}.rst"
    for figure in (Path(path).stem for path in REPORTED if path.endswith(".png"))
}


# The tables of the leaderboard page; a study that is not in the config has no tab.
LEADERBOARD_TABLES = [
    TABLES[name] for name in ("suite_leaderboard", "harmony_leaderboard") if name in TABLES
]


rule leaderboard_page:
    """Write the leaderboard page, with tabs for submitted models and train-before-test."""
    input:
        tables=LEADERBOARD_TABLES,
    output:
        page=report(
            "results/report/leaderboard.html",
            caption="../docs/captions/leaderboard_page.rst",
            category="Report",
        ),
    log:
        "logs/leaderboard_page.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments=leaderboard_page(SETTINGS, measures=any(RECORDS.values()) or "suite" in RECORDS),
    script:
        "../workflow_scripts/paper/leaderboard.py"


rule leaderboard:
    """Build the leaderboard, one web page: results/report/leaderboard.html."""
    input:
        rules.leaderboard_page.output if LEADERBOARD_TABLES else [],


rule merge_scores:
    """Merge the scores of all studies and imported scores into one table, results/scores.csv."""
    input:
        studies=[f"results/scores/{study}.parquet" for study in RECORDS if study not in TIMED],
        imported=SETTINGS.harmony.imported_scores,
    output:
        parquet="results/scores.parquet",
        csv="results/scores.csv",
    log:
        "logs/merge_scores.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=3,
        metrics=METRICS_OF_TASKS,
    script:
        "../workflow_scripts/scores/merge.py"


rule collect_numbers:
    """Collect the numbers that the report's text cites, and their provenance: code, machines, models and data."""
    input:
        records=list_all_records,
        tables=[path.replace(".md", ".csv") for path in REPORTED if path.endswith(".md")],
    output:
        numbers="results/tables/numbers.json",
        provenance="results/report/provenance.json",
    log:
        "logs/collect_numbers.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=4,
        config=dump_shown_config(SETTINGS),
    script:
        "../workflow_scripts/paper/collect_numbers.py"


rule report:
    """Write the report: all studies on one page, with a list of missing results and reasons."""
    input:
        files=REPORTED,
        numbers="results/tables/numbers.json",
        provenance="results/report/provenance.json",
        prose=list_prose_files(".md.j2"),
        sources=SETTINGS.resource("published/sources.csv"),
        caption_files=list(dict.fromkeys(CAPTIONS.values())),
        pages=rules.leaderboard_page.output if LEADERBOARD_TABLES else [],
    output:
        report=report(
            "results/report/index.html",
            caption="../docs/captions/report.rst",
            category="Report",
        ),
    log:
        "logs/report.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments={
            "chapters": CHAPTERS,
            "captions": CAPTIONS,
            "links": {"Leaderboard": "leaderboard.html"} if LEADERBOARD_TABLES else {},
        },
    script:
        "../workflow_scripts/paper/report.py"


use rule report as paper_source with:
    """Write the report as a LaTeX paper."""
    output:
        report="results/report/paper.tex",
    log:
        "logs/paper_source.log",
    localrule: True


rule paper:
    """Build the report page and the LaTeX paper, with their tables and numbers."""
    input:
        rules.report.output,
        rules.paper_source.output,


rule share:
    """Export all evaluations with their items in the JSON format of Every Eval Ever, for sharing."""
    input:
        records=list_all_records,
    output:
        folder=directory("results/share"),
    log:
        "logs/share.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=4,
    script:
        "../workflow_scripts/paper/share.py"
