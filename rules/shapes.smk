"""The shapes that repeat, each once: a table and a figure, taken by `use rule ... from shapes as ... with`.

Whoever takes one names its inputs, outputs and log, and in `params` the module that describes it, the
request and a version, which is raised when its meaning changes.
"""


rule table:
    """A table of a study."""
    output:
        csv="results/tables/{table}.csv",
        md="results/tables/{table}.md",
        tex="results/tables/{table}.tex",
    log:
        "logs/table_{table}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        version=1,
        request={},
    script:
        "../workflow_scripts/steps/table.py"


rule figure:
    """A figure of a study."""
    output:
        pdf="results/figures/{figure}.pdf",
        png="results/figures/{figure}.png",
    log:
        "logs/figure_{figure}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version=1,
        request={},
    script:
        "../workflow_scripts/steps/figure.py"
