"""The paper: from records to scores, and from the tables of all studies to one report."""

from workflow_scripts.settings.chunked_tables import sized_checkpoints
from workflow_scripts.settings.paper import (
    Report,
    TablesTold,
    published_cells,
    reproduction,
    shown_config,
)


use rule files from makers as collect_scores with:
    """Gather a study's records into one tidy table of scores."""
    input:
        records=lambda wildcards: records_of(wildcards.study, wildcards),
    output:
        scores="results/scores/{study}.parquet",
    log:
        "logs/collect_scores/{study}.log",
    wildcard_constraints:
        study=one_of(RECORDS),
    localrule: True
    params:
        version=1,
        function="scores.tidy.collect_scores",


use rule files from makers as merge_scores with:
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
    params:
        version=2,
        function="scores.tidy.merge_scores",
        request=METRICS_OF_TASKS,


use rule table from tables as table_chunking_summary with:
    """Table: a line per chunked checkpoint: size, MMLU, perplexity, time."""
    input:
        **SUMMARY_TABLES,
    output:
        **table_files("chunking_summary"),
    log:
        "logs/table_chunking_summary.log",
    localrule: True
    params:
        version=3,
        table="studies.chunking.summary",
        request=sized_checkpoints(SETTINGS).as_params(),


use rule table from tables as table_protocol_differences with:
    """Table: where the protocol of this run is not the published one."""
    input:
        **MEASURED_PUBLISHED,
        protocols=published_file("protocols.yaml"),
    output:
        **table_files("protocol_differences"),
    log:
        "logs/table_protocol_differences.log",
    localrule: True
    params:
        version=1,
        table="paper.protocols.differences",
        request=published_cells(SETTINGS).as_params(),


use rule table from tables as table_reproduction with:
    """Table: each published number beside ours, with a verdict."""
    input:
        **REPRODUCED_TABLES,
        published=[published_file(f"{name}.csv") for name in PUBLISHED_TABLES],
        protocols=published_file("protocols.yaml"),
        protocol_differences="results/tables/protocol_differences.csv",
    output:
        **table_files("reproduction"),
    log:
        "logs/table_reproduction.log",
    localrule: True
    params:
        version=2,
        table="paper.reproduction",
        request=reproduction(SETTINGS).as_params(),


use rule table from tables as table_reproduction_by_task with:
    """Table: scores after training beside the published ones, each task over all models."""
    input:
        reproduction="results/tables/reproduction.csv",
        published=[published_file(f"{name}.csv") for name in PUBLISHED_GRID],
    output:
        **table_files("reproduction_by_task"),
    log:
        "logs/table_reproduction_by_task.log",
    localrule: True
    params:
        version=1,
        table="paper.reproduction_by_task",
        request={},


use rule files from makers as gather_provenance with:
    """Gather from all records the code, machines, models and data behind them."""
    input:
        records=all_records,
    output:
        provenance="results/report/provenance.json",
    log:
        "logs/gather_provenance.log",
    localrule: True
    params:
        version=1,
        function="paper.provenance.gather_provenance",
        request=shown_config(SETTINGS),


use rule files from makers as collect_numbers with:
    """The numbers of prose, by name, as JSON and for LaTeX."""
    input:
        tables=REPORT_TABLES,
        provenance="results/report/provenance.json",
        names=prose_files("numbers.tsv"),
    output:
        json="results/tables/numbers.json",
        tex="results/tables/numbers.tex",
    log:
        "logs/collect_numbers.log",
    localrule: True
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        version=1,
        function="paper.studies.collect_numbers",
        request=lambda wildcards: TablesTold(tables=tables_told()).as_params(),


# What the page and the paper are told from.
TOLD = {
    "tables": REPORT_TABLES,
    "figures": PAPER_FIGURES,
    "numbers": "results/tables/numbers.json",
    "provenance": "results/report/provenance.json",
    "captions": REPORT_CAPTIONS,
    "prose": prose_files(".md.j2"),
}


use rule files from makers as report with:
    """The report: all studies on one page, results/report/index.html."""
    input:
        **TOLD,
        sources=published_file("sources.csv"),
        pages="results/report/leaderboard.html",
    output:
        page=report(
            "results/report/index.html",
            category="Report",
            caption="../../docs/captions/report.rst",
        ),
    log:
        "logs/report.log",
    localrule: True
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        version=1,
        function="paper.report.report",
        request=lambda wildcards: Report(
            tables=tables_told(),
            links={"Leaderboard": "leaderboard.html"},
        ).as_params(),


use rule files from makers as paper_source with:
    """The report as a paper in LaTeX."""
    input:
        **TOLD,
    output:
        paper="results/report/paper.tex",
    log:
        "logs/paper_source.log",
    localrule: True
    params:
        version=1,
        function="paper.report.report",
        request=lambda wildcards: Report(tables=tables_told()).as_params(),


use rule files from makers as paper_pdf with:
    """The paper as PDF, asked for by name; needs a TeX engine."""
    input:
        paper=rules.paper_source.output.paper,
        numbers=rules.collect_numbers.output.tex,
    output:
        pdf="results/report/paper.pdf",
    log:
        "logs/paper_pdf.log",
    localrule: True
    params:
        version=1,
        function="paper.latex.paper_pdf",


rule paper:
    """The whole report: summary and reproduction tables, numbers, page, and the paper's source."""
    input:
        SUMMARY_MADE,
        rules.table_reproduction.output,
        rules.table_reproduction_by_task.output,
        rules.table_protocol_differences.output,
        rules.collect_numbers.output,
        rules.report.output,
        rules.paper_source.output,
