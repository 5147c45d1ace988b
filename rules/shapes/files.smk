"""The shape of small work on files, taken by `use rule files from makers as ... with`: scores, numbers, pages.

Whoever takes it names inputs, outputs and log, and in `params` the function that makes the ones from the
others, its request and a version, which is raised when its meaning changes.
It does not inherit `localrule`, so whoever takes it says `localrule: True` again, or it is sent to a cluster.
"""


rule files:
    """Files that a function makes from others."""
    output:
        "results/files/{files}",
    log:
        "logs/files_{files}.log",
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
        "../../workflow_scripts/steps/files.py"
