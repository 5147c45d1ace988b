"""The shape of every table, taken by `use rule table from tables as ... with`.

Whoever takes it names inputs, outputs and log, and in `params` the module that describes the table, its
request and a version, which is raised when its meaning changes. One rule a file: Snakemake mixes up
the names of several rules that are taken from one module.
It does not inherit `localrule`, so whoever takes it says `localrule: True` again, or it is sent to a cluster.
"""


rule table:
    """A table of a study."""
    output:
        csv="results/tables/{table}.csv",
        md="results/tables/{table}.md",
        tex="results/tables/{table}.tex",
    log:
        "logs/table_{table}.log",
    conda:
        "../../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        version=1,
        request={},
    script:
        "../../workflow_scripts/steps/table.py"
