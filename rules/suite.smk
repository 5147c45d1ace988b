"""Evaluate submitted models on a suite of tasks, after checking each request."""

from workflow_scripts.studies.suite.tasks import list_tasks


# A checkpoint rule: it determines the rows of the leaderboard, and refused requests are never evaluated.
checkpoint check_requests:
    """Check every leaderboard request from small files, before any evaluation."""
    input:
        INPUTS.metadata_files,
    output:
        checks="results/requests/checks.json",
    log:
        "logs/check_requests.log",
    localrule: True
    conda:
        "../envs/lm_eval.yaml"
    params:
        version="check_requests 6",  # raise when the meaning of a check changes
        request=INPUTS.check_params,
    script:
        "../workflow_scripts/studies/suite/submissions.py"


# The rule has no output, so it always runs when requested.
rule submit:
    """Print the status of each leaderboard request: accepted, or the reason for refusal."""
    input:
        checks=rules.check_requests.output.checks,
        sources=INPUTS.metadata_files,
    log:
        "logs/submit.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    script:
        "../workflow_scripts/studies/suite/submit.py"


rule suite_leaderboard:
    """Tabulate the scores of submitted models on the suite of tasks, with their average."""
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
        version=7,
        arguments={
            "tasks": list_tasks(SETTINGS),
            "flags": [flag.model_dump(mode="json") for flag in SETTINGS.flags],
        },
    script:
        "../workflow_scripts/studies/suite/leaderboard.py"


rule suite_requests:
    """Tabulate the status of each leaderboard request."""
    input:
        checks="results/requests/checks.json",
        records=INPUTS.list_suite_records,
    output:
        table=multiext("results/tables/suite_requests", ".csv", ".md", ".tex"),
    log:
        "logs/suite_requests.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=3,
    script:
        "../workflow_scripts/studies/suite/requests.py"


rule suite:
    """Study: evaluate submitted models on a suite of tasks, after checking each request."""
    input:
        [rules.suite_leaderboard.output, rules.suite_requests.output] if "suite" in RECORDS else [],
        INPUTS.list_suite_records,
        # List these files too, so that files that the hub failed to give are requested again.
        INPUTS.metadata_files,
