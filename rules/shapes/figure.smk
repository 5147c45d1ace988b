"""The shape of every figure, taken by `use rule figure from figures as ... with`.

Whoever takes it names inputs, outputs and log, and in `params` the module that describes the figure, its
request and a version, which is raised when its meaning changes. One rule a file: Snakemake mixes up
the names of several rules that are taken from one module.
It does not inherit `localrule`, so whoever takes it says `localrule: True` again, or it is sent to a cluster.
"""


rule figure:
    """A figure of a study."""
    output:
        pdf="results/figures/{figure}.pdf",
        png="results/figures/{figure}.png",
    log:
        "logs/figure_{figure}.log",
    conda:
        "../../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version=1,
        request={},
    script:
        "../../workflow_scripts/steps/figure.py"
