"""The leaderboard: submitted models, checked before they cost anything, on a suite of tasks."""


include: "suite_inputs.smk"


# Which rows there are is known once this has run: what it refuses is never asked anything.
checkpoint check_requests:
    """Check every request of the leaderboard before it costs anything."""
    input:
        SUITE_SOURCES,
    output:
        checks="results/requests/checks.json",
    log:
        "logs/check_requests.log",
    localrule: True
    conda:
        "../envs/lm_eval.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="check_requests 3",  # raise it when a check changes its meaning
        request=SUITE_CHECKS,
    script:
        "../workflow_scripts/studies/suite/submissions.py"


# Without an output: asked for by name it always says how the requests stand now.
rule submit:
    """Say of each request whether it is accepted, or why it is refused."""
    input:
        checks=rules.check_requests.output.checks,
        sources=SUITE_SOURCES,
    log:
        "logs/submit.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="submit 1",
        request={},
    script:
        "../workflow_scripts/steps/submit.py"


rule suite_leaderboard:
    """Submitted models on the suite of tasks, with their average."""
    input:
        scores="results/scores/suite.parquet",
        errors="results/scores/suite_errors.parquet",
        checks="results/requests/checks.json",
    output:
        table=multiext("results/tables/suite_leaderboard", ".csv", ".md", ".tex"),
    log:
        "logs/suite_leaderboard.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=6,
        arguments=suite_tables(SETTINGS),
    script:
        "../workflow_scripts/studies/suite/leaderboard.py"


rule suite_checks:
    """Rows of the leaderboard that are worth a look by a person."""
    input:
        board="results/tables/suite_leaderboard.csv",
        checks="results/requests/checks.json",
        records=lambda wildcards: records_of("suite", wildcards),
    output:
        table=multiext("results/tables/suite_checks", ".csv", ".md", ".tex"),
    log:
        "logs/suite_checks.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=5,
        arguments=suite_tables(SETTINGS),
    script:
        "../workflow_scripts/studies/suite/checks.py"


rule suite_requests:
    """How each request stands."""
    input:
        checks="results/requests/checks.json",
        records=lambda wildcards: records_of("suite", wildcards),
    output:
        table=multiext("results/tables/suite_requests", ".csv", ".md", ".tex"),
    log:
        "logs/suite_requests.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
    script:
        "../workflow_scripts/studies/suite/requests.py"


rule suite_protocol:
    """Where the suite is not asked as on the Open LLM Leaderboard."""
    input:
        records=lambda wildcards: records_of("suite", wildcards),
        protocols=SETTINGS.resource("published/protocols.yaml"),
    output:
        table=multiext("results/tables/suite_protocol", ".csv", ".md", ".tex"),
    log:
        "logs/suite_protocol.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=3,
    script:
        "../workflow_scripts/paper/protocol_differences.py"


rule suite:
    """Study: submitted models on a suite of tasks, checked before they are run."""
    input:
        rules.suite_leaderboard.output if "suite" in RECORDS else [],
        rules.suite_checks.output if "suite" in RECORDS else [],
        rules.suite_requests.output if "suite" in RECORDS else [],
        suite_records if "suite" in RECORDS else [],
        rules.suite_protocol.output if "suite" in RECORDS else [],
        # What requests are checked by too, or what the hub did not give would not be asked for again.
        SUITE_SOURCES,
