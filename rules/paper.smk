"""The paper: from records to scores, and from the tables of all studies to one report."""

from workflow_scripts.paper.products import chapter_files, product_captions, prose_files
from workflow_scripts.paper.requests import shown_config
from workflow_scripts.studies.ranking.grid_settings import models_request


def report_files(outputs):
    """List the Markdown tables and PNG figures among the outputs of a rule."""
    return [path for path in outputs if path.endswith((".md", ".png"))]


# What each chapter of the report shows, in this order.
CHAPTERS = {
    grid: report_files(list_results(grid))
    for grid in OTHERS
    if SETTINGS.grids[GRIDS[grid]].in_report
}
CHAPTERS |= {"harmony": report_files(RANKED), **chapter_files(SETTINGS)}
if MMLU_CHECKPOINTS:
    CHAPTERS.setdefault("chunking", []).extend(report_files(rules.mmlu_by_subject.output))
REPORTED = [path for files in CHAPTERS.values() for path in files]
# A figure of a grid has a caption for any grid.
CAPTIONS = {
    name: Path(workflow.basedir, f"docs/captions/{re.sub(f'^({one_of(GRIDS)})_', '', name)}.rst")
    for name in (Path(path).stem for path in REPORTED if path.endswith(".png"))
}
CAPTIONS = product_captions(SETTINGS) | {
    name: " ".join(file.read_text(encoding="utf-8").split())
    for name, file in CAPTIONS.items()
    if file.exists()
}


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


rule collect_numbers:
    """The numbers of prose, by name, as JSON and for LaTeX."""
    input:
        tables=[path.replace(".md", ".csv") for path in REPORTED if path.endswith(".md")],
        provenance="results/report/provenance.json",
        names=prose_files(SETTINGS, "numbers.tsv"),
    output:
        numbers=multiext("results/tables/numbers", ".json", ".tex"),
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
        version=2,
    script:
        "../workflow_scripts/paper/collect_numbers.py"


rule report:
    """The report: all studies on one page, and what is missing and why."""
    input:
        files=REPORTED,
        numbers="results/tables/numbers.json",
        provenance="results/report/provenance.json",
        prose=prose_files(SETTINGS, ".md.j2"),
        sources=SETTINGS.resource("published/sources.csv"),
        pages="results/report/leaderboard.html",
    output:
        page=report(
            "results/report/index.html",
            caption="../docs/captions/report.rst",
            category="Report",
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
        version=1,
        arguments={
            "chapters": CHAPTERS,
            "captions": CAPTIONS,
            "links": {"Leaderboard": "leaderboard.html"},
        },
    script:
        "../workflow_scripts/paper/report.py"


use rule report as paper_source with:
    """The report as a paper in LaTeX."""
    input:
        files=REPORTED,
        numbers="results/tables/numbers.json",
        provenance="results/report/provenance.json",
        prose=prose_files(SETTINGS, ".md.j2"),
        sources=SETTINGS.resource("published/sources.csv"),
    output:
        paper="results/report/paper.tex",
    log:
        "logs/paper_source.log",
    localrule: True


use rule collect_scores as paper_pdf with:
    """The paper as PDF, asked for by name; needs a TeX engine."""
    input:
        paper=rules.paper_source.output.paper,
        numbers=rules.collect_numbers.output.numbers,
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
        rules.report.output,
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
