"""The paper: from records to scores, and from the tables of all studies to one report."""

from workflow_scripts.settings.chunked_tables import sized_checkpoints
from workflow_scripts.settings.paper import Report, TablesTold, reproduction, shown_config


rule collect_scores:
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
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version=1,
    script:
        "../workflow_scripts/steps/collect_scores.py"


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
        version="merge_scores 2",
        metrics=METRICS_OF_TASKS,
    script:
        "../workflow_scripts/steps/merge_scores.py"


use rule table from tables as table_chunking_summary with:
    """Table: a line per chunked checkpoint: size, MMLU, perplexity, time."""
    input:
        **SUMMARY_TABLES,
    output:
        **table_files("chunking_summary"),
    log:
        "logs/table_chunking_summary.log",
    params:
        version=1,
        table="studies.chunking.summary",
        request=sized_checkpoints(SETTINGS).as_params(),


use rule table from tables as table_reproduction with:
    """Table: each published number beside ours, with a verdict."""
    input:
        **REPRODUCED_TABLES,
        published=[published_file(name) for name in PUBLISHED_TABLES],
    output:
        **table_files("reproduction"),
    log:
        "logs/table_reproduction.log",
    params:
        version=1,
        table="paper.reproduction",
        request=reproduction(SETTINGS).as_params(),


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
        version="gather_provenance 1",
        config=shown_config(SETTINGS),
    script:
        "../workflow_scripts/steps/gather_provenance.py"


def tables_told():
    """What describes each table of the report, and what it was asked: as its rule has it."""
    params = {
        name: getattr(rules, f"table_{name}").params
        for name in [Path(table).stem for table in REPORT_TABLES]
    }
    return {
        name: {"table": of.table, "request": of.request}
        for name, of in params.items()
        if "table" in of.keys()
    }


rule collect_numbers:
    """The numbers of prose, by name, as JSON and for LaTeX."""
    input:
        tables=REPORT_TABLES,
        provenance="results/report/provenance.json",
    output:
        json="results/tables/numbers.json",
        tex="results/tables/numbers.tex",
    log:
        "logs/collect_numbers.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        version="collect_numbers 1",
        request=lambda wildcards: TablesTold(tables=tables_told()).as_params(),
    script:
        "../workflow_scripts/steps/collect_numbers.py"


# What the page and the paper are told from.
TOLD = {
    "tables": REPORT_TABLES,
    "figures": PAPER_FIGURES,
    "numbers": "results/tables/numbers.json",
    "provenance": "results/report/provenance.json",
    "captions": REPORT_CAPTIONS,
}


rule report:
    """The report: all studies on one page, results/report/index.html."""
    input:
        **TOLD,
        sources=published_file("sources"),
        pages="results/report/leaderboard.html",
    output:
        page=report(
            "results/report/index.html",
            category="Report",
            caption="../docs/captions/report.rst",
        ),
    log:
        "logs/report.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        version="report 1",
        request=lambda wildcards: Report(
            form="page",
            tables=tables_told(),
            links={"Leaderboard": "leaderboard.html"},
        ).as_params(),
    script:
        "../workflow_scripts/steps/report.py"


use rule report as paper_source with:
    """The report as a paper in LaTeX."""
    input:
        **TOLD,
    output:
        paper="results/report/paper.tex",
    log:
        "logs/paper_source.log",
    params:
        version="paper_source 1",
        request=lambda wildcards: Report(form="paper", tables=tables_told()).as_params(),


rule paper_pdf:
    """The paper as PDF, asked for by name; needs a TeX engine."""
    input:
        paper=rules.paper_source.output.paper,
        numbers=rules.collect_numbers.output.tex,
    output:
        pdf="results/report/paper.pdf",
    log:
        "logs/paper_pdf.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="paper_pdf 1",
    script:
        "../workflow_scripts/steps/paper_pdf.py"


rule paper:
    """The whole report: summary and reproduction tables, numbers, page, and the paper's source."""
    input:
        SUMMARY_MADE,
        rules.table_reproduction.output,
        rules.collect_numbers.output,
        rules.report.output,
        rules.paper_source.output,
