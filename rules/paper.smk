"""The paper: from records to scores, and from the tables of all studies to one report."""

from workflow_scripts.paper.requests import (
    leaderboard_page,
    list_published_cells,
    describe_comparisons,
    dump_shown_config,
)
from workflow_scripts.settings.mmlu import PUBLISHED

PUBLISHED_MMLU = list(dict.fromkeys(PUBLISHED.values()))
PUBLISHED_GRID = ["harmony_leaderboard", "harmony_cells"]


# What each chapter of the report shows, in this order.
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


# The CSV file of each table that a chapter shows, by the table's name.
TABLES = {
    Path(path).stem: path.replace(".md", ".csv")
    for files in CHAPTERS.values()
    for path in files
    if path.endswith(".md")
}


rule protocol_differences:
    """Where the protocol of this run is not the published one."""
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
    """Each published number beside ours, with a verdict."""
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
# By figure, the file of its caption; a figure of a grid has that of any grid.
CAPTIONS = {
    figure: f"{workflow.basedir}/docs/captions/{re.sub(f'^({match_any(GRIDS)})_', '', figure)}.rst"
    for figure in (Path(path).stem for path in REPORTED if path.endswith(".png"))
}


# What the leaderboard page is made from; a study that the config has not has no tab.
LEADERBOARD_TABLES = [
    TABLES[name] for name in ("suite_leaderboard", "harmony_leaderboard") if name in TABLES
]


rule leaderboard_page:
    """The leaderboard: submitted models, and train before test."""
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
    """The leaderboard: one page for a browser, results/report/leaderboard.html."""
    input:
        rules.leaderboard_page.output if LEADERBOARD_TABLES else [],


rule merge_scores:
    """All studies' scores in one table, with those imported from elsewhere."""
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
    """The numbers of prose, by name, and the code, machines, models and data behind them."""
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
    """The report: all studies on one page, and what is missing and why."""
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
    """The report as a paper in LaTeX."""
    output:
        report="results/report/paper.tex",
    log:
        "logs/paper_source.log",
    localrule: True


rule paper:
    """The whole report: its tables and numbers, the page, and the paper's source."""
    input:
        rules.report.output,
        rules.paper_source.output,


rule share:
    """Write all evaluations as JSON of Every Eval Ever, with their items, for others to read."""
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
