"""The paper: from records to scores, and from the tables of all studies to one report."""

from workflow_scripts.paper.products import (
    prose_files,
    tables_told,
    told,
    told_from,
)
from workflow_scripts.paper.requests import shown_config
from workflow_scripts.studies.ranking.requests import models_request


use rule collect_scores as merge_scores with:
    """All studies' scores in one table, with those imported from elsewhere."""
    input:
        studies=[
            f"results/scores/{one.name}.parquet"
            for one in MEASURED
            if one.name in RECORDS and not one.is_timed
        ],
        imported=SETTINGS.harmony.imported_scores,
    output:
        parquet="results/scores.parquet",
        csv="results/scores.csv",
    log:
        "logs/merge_scores.log",
    localrule: True
    params:
        version=3,
        function="scores.tidy.merge_scores",
        request=METRICS_OF_TASKS,


use rule collect_scores as gather_provenance with:
    """Gather from all records the code, machines, models and data behind them."""
    input:
        records=all_records,
    output:
        provenance="results/report/provenance.json",
    log:
        "logs/gather_provenance.log",
    localrule: True
    params:
        version=2,
        function="paper.provenance.gather_provenance",
        request=shown_config(SETTINGS),


use rule collect_scores as collect_numbers with:
    """The numbers of prose, by name, as JSON and for LaTeX."""
    input:
        tables=told_from(SETTINGS)["tables"],
        provenance="results/report/provenance.json",
        names=prose_files(SETTINGS, "numbers.tsv"),
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
        request=lambda wildcards: tables_told(SETTINGS).as_params(),


use rule collect_scores as paper_source with:
    """The report as a paper in LaTeX."""
    input:
        **told_from(SETTINGS),
    output:
        paper="results/report/paper.tex",
    log:
        "logs/paper_source.log",
    localrule: True
    params:
        version=1,
        function="paper.report.report",
        request=lambda wildcards: told(SETTINGS).as_params(),


use rule collect_scores as paper_pdf with:
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
        made_of("paper"),
        rules.collect_numbers.output,
        rules.paper_source.output,


use rule collect_scores as share with:
    """Write all evaluations as JSON of Every Eval Ever, with their items, for others to read."""
    input:
        records=all_records,
    output:
        folder=directory("results/share"),
    log:
        "logs/share.log",
    localrule: True
    resources:
        mem_mb=4000,
        runtime="2h",
    params:
        version=2,
        function="paper.share.share",
        request=lambda wildcards: models_request(SETTINGS).as_params(),
