"""Tables, figures and pages: declared in their studies' products.py, each made by one of three rules."""


rule table:
    """A table of a study: results/tables/<name>.{csv,md,tex}; `snakemake products` names them all."""
    input:
        unpack(made_from("table")),
    output:
        csv="results/tables/{table}.csv",
        md="results/tables/{table}.md",
        tex="results/tables/{table}.tex",
    log:
        "logs/table_{table}.log",
    wildcard_constraints:
        table=names_of("table"),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        **described("table", "table"),
    script:
        "../workflow_scripts/steps/table.py"


rule figure:
    """A figure of a study: results/figures/<name>.{pdf,png}, drawn from a table."""
    input:
        unpack(made_from("figure")),
    output:
        pdf="results/figures/{figure}.pdf",
        png=in_report("results/figures/{figure}.png", "figure"),
    log:
        "logs/figure_{figure}.log",
    wildcard_constraints:
        figure=names_of("figure"),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        **described("figure", "figure"),
    script:
        "../workflow_scripts/steps/figure.py"


rule page:
    """A page for a browser: results/report/<name>.html."""
    input:
        unpack(made_from("page")),
    output:
        page=in_report("results/report/{page}.html", "page"),
    log:
        "logs/page_{page}.log",
    wildcard_constraints:
        page=names_of("page"),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        **described("page", "function"),
    script:
        "../workflow_scripts/steps/files.py"


# Other small work on files takes its shape from this rule. What it does not inherit is `localrule`: whoever
# takes it says that again, or the job is sent to a cluster.
rule collect_scores:
    """Gather a study's records into one tidy table of scores."""
    input:
        records=lambda wildcards: records_of(wildcards.study, wildcards),
        imports=lambda wildcards: imports_of(wildcards.study),
    output:
        scores="results/scores/{study}.parquet",
        errors="results/scores/{study}_errors.parquet",
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
        version=4,
        function="scores.tidy.collect_scores",
        request={},
    script:
        "../workflow_scripts/steps/files.py"


use rule collect_scores as import_results with:
    """Read what other people's harnesses wrote into a folder: each file whole, or none of them."""
    input:
        # A whole path: what this run shares may be read by another config in the same folder.
        folder=lambda wildcards: Path(
            import_request(SETTINGS, wildcards.imported).folder
        ).absolute(),
    output:
        folder=directory("results/imports/{imported}"),
    log:
        "logs/import_results/{imported}.log",
    wildcard_constraints:
        imported=one_of(SETTINGS.import_folders),
    localrule: True
    conda:
        "../envs/lm_eval.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        version=4,
        function="scores.foreign.imports.import_results",
        request=lambda wildcards: import_request(SETTINGS, wildcards.imported).as_params(),


# Without an output: asked for by name it always says what there is. Others like it take its shape.
rule products:
    """Name every table, figure and page that this config has made, with a sentence."""
    log:
        "logs/products.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version=1,
        function="paper.products.list_products",
        request=lambda wildcards: {"lines": listed(SETTINGS)},
    script:
        "../workflow_scripts/steps/files.py"


rule leaderboard:
    """The leaderboard: one page for a browser, results/report/leaderboard.html."""
    input:
        made_of("leaderboard"),
