"""The paper: from records to scores, and from the tables of all studies to one report."""

from workflow_scripts.paper.requests import (
    leaderboard_page,
    list_published_cells,
    describe_comparisons,
    dump_shown_config,
)
from workflow_scripts.settings.mmlu import PUBLISHED
from workflow_scripts.studies.harmony.requests import describe_comparison

PUBLISHED_MMLU = list(dict.fromkeys(PUBLISHED.values()))
PUBLISHED_GRID = ["harmony_leaderboard", "harmony_cells"]


rule protocol_differences:
    """Where the protocol of this run is not the published one."""
    input:
        records=[
            path
            for study in ("harmony", "mmlu", "chunking", "latency", "prompts")
            for path in RECORDS.get(study, [])
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
        version=6,
        arguments=list_published_cells(SETTINGS),
    script:
        "../workflow_scripts/paper/protocol_differences.py"


rule reproduction:
    """Each published number beside ours, with a verdict."""
    input:
        ours=[
            f"results/tables/{table}.csv"
            for table, is_made in (
                ("mmlu_by_subject", MMLU_CHECKPOINTS),
                ("prompt_runs", PROMPT_CHECKPOINTS),
                ("harmony_leaderboard", "harmony" in RECORDS),
            )
            if is_made
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


# What each chapter of the report shows, in this order.
CHAPTERS = {
    grid: report_files(list_results(grid))
    for grid in OTHERS
    if SETTINGS.grids[GRIDS[grid]].in_report
}
for chapter, outputs in (
    ("harmony", RANKED),
    ("chunking", rules.chunking_quality.output if CHECKPOINTS else []),
    ("chunking", rules.training_stages.output if "training" in RECORDS else []),
    ("chunking", rules.training_curves.output if "training" in RECORDS else []),
    ("chunking", UNTRAINED_PLANS),
    ("chunking", rules.mmlu_by_subject.output if MMLU_CHECKPOINTS else []),
    ("prompts", rules.prompt_runs.output if PROMPT_CHECKPOINTS else []),
    ("suite", rules.suite_leaderboard.output if "suite" in RECORDS else []),
    ("suite", rules.suite_checks.output if "suite" in RECORDS else []),
    ("suite", rules.suite_requests.output if "suite" in RECORDS else []),
    ("suite", rules.suite_protocol.output if "suite" in RECORDS else []),
    ("reproduction", rules.reproduction.output),
    ("reproduction", rules.protocol_differences.output),
):
    CHAPTERS.setdefault(chapter, []).extend(report_files(outputs))
REPORTED = [path for files in CHAPTERS.values() for path in files]
# By figure, the name of its caption; a figure of a grid has that of any grid.
CAPTIONS = {
    figure: re.sub(f"^({one_of(GRIDS)})_", "", figure)
    for figure in (Path(path).stem for path in REPORTED if path.endswith(".png"))
}
CAPTION_FILES = [
    str(Path(workflow.basedir, f"docs/captions/{name}.rst"))
    for name in dict.fromkeys(CAPTIONS.values())
]


# What the leaderboard page is made from; a study that the config has not has no tab.
LEADERBOARD_TABLES = [
    f"results/tables/{table}.csv"
    for table, is_made in {
        "suite_leaderboard": "suite" in RECORDS,
        "suite_checks": "suite" in RECORDS,
        "harmony_leaderboard": "harmony" in RECORDS,
        "prompt_runs": "prompts" in RECORDS,
        "chunking_quality": CHECKPOINTS,
    }.items()
    if is_made
]


rule leaderboard_page:
    """The leaderboard, a tab for each study of the config."""
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
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version=3,
        request=METRICS_OF_TASKS,
    script:
        "../workflow_scripts/steps/merge_scores.py"


rule gather_provenance:
    """Gather from all records the code, machines, models and data behind them."""
    input:
        records=all_records,
    output:
        provenance="results/report/provenance.json",
    log:
        "logs/gather_provenance.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version=2,
        request=dump_shown_config(SETTINGS),
    script:
        "../workflow_scripts/paper/provenance.py"


rule collect_numbers:
    """The numbers of prose, by name, as JSON and for LaTeX."""
    input:
        tables=[path.replace(".md", ".csv") for path in REPORTED if path.endswith(".md")],
        provenance="results/report/provenance.json",
        names=prose_files("numbers.tsv"),
    output:
        numbers=multiext("results/tables/numbers", ".json", ".tex"),
    log:
        "logs/collect_numbers.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
    script:
        "../workflow_scripts/paper/collect_numbers.py"


rule report:
    """The report: all studies on one page, and what is missing and why."""
    input:
        files=REPORTED,
        numbers="results/tables/numbers.json",
        provenance="results/report/provenance.json",
        prose=prose_files(".md.j2"),
        sources=SETTINGS.resource("published/sources.csv"),
        caption_files=CAPTION_FILES,
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
    input:
        files=REPORTED,
        numbers="results/tables/numbers.json",
        provenance="results/report/provenance.json",
        prose=prose_files(".md.j2"),
        sources=SETTINGS.resource("published/sources.csv"),
        caption_files=CAPTION_FILES,
    output:
        report="results/report/paper.tex",
    log:
        "logs/paper_source.log",
    localrule: True


rule paper:
    """The whole report: summary and reproduction tables, numbers, page, and the paper's source."""
    input:
        rules.reproduction.output,
        rules.protocol_differences.output,
        rules.collect_numbers.output,
        rules.report.output,
        rules.paper_source.output,


rule share:
    """Write all evaluations as JSON of Every Eval Ever, with their items, for others to read."""
    input:
        records=all_records,
    output:
        folder=directory("results/share"),
    log:
        "logs/share.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime="2h",
    params:
        version=3,
        request={"models": list_grid_models(SETTINGS, OWN_GRID)},
    script:
        "../workflow_scripts/paper/share.py"
