"""The leaderboard: submitted models, checked before they cost anything, on a suite of tasks."""


include: "suite_inputs.smk"


# A checkpoint: the rows are known once it has run, and what it refuses is never evaluated.
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
    params:
        version="check_requests 4",  # raise it when a check changes its meaning
        request=SUITE_CHECKS,
    script:
        "../workflow_scripts/studies/suite/submissions.py"


# Without an output, so that it always runs.
rule submit:
    """Print the status of each request: accepted, or why it is refused."""
    input:
        checks=rules.check_requests.output.checks,
        sources=SUITE_SOURCES,
    log:
        "logs/submit.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version="submit 1",
    script:
        "../workflow_scripts/studies/suite/submit.py"


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
        arguments=describe_tables(SETTINGS),
    script:
        "../workflow_scripts/studies/suite/leaderboard.py"


rule suite_requests:
    """Status of each request."""
    input:
        checks="results/requests/checks.json",
        records=lambda wildcards: list_study_records("suite", wildcards),
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


rule suite:
    """Study: submitted models on a suite of tasks, checked before they are run."""
    input:
        [rules.suite_leaderboard.output, rules.suite_requests.output] if "suite" in RECORDS else [],
        list_suite_records if "suite" in RECORDS else [],
        # Sources too, so that what the hub did not give is requested again.
        SUITE_SOURCES,
