"""The leaderboard: submitted models, checked before they cost anything, on a suite of tasks."""


# Which rows there are is known once this has run: what it refuses is never asked anything.
checkpoint check_requests:
    """Check every request of the leaderboard before it costs anything."""
    input:
        sources=[one.source for one in SUITE_CHECKS.submissions.values()],
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
        version="check_requests 1",  # raise it when a check changes its meaning
        request=SUITE_CHECKS.as_params(),
    script:
        "../workflow_scripts/steps/check_requests.py"


# Without an output: asked for by name it always says how the requests stand now.
rule submit:
    """Say of each request whether it is accepted, or why it is refused."""
    input:
        checks=rules.check_requests.output.checks,
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
    script:
        "../workflow_scripts/steps/submit.py"




rule table_suite_leaderboard:
    """Table: submitted models on the suite of tasks, with their average."""
    input:
        scores="results/scores/suite.parquet",
        checks=rules.check_requests.output.checks,
    output:
        csv="results/tables/suite_leaderboard.csv",
        md="results/tables/suite_leaderboard.md",
        tex="results/tables/suite_leaderboard.tex",
    log:
        "logs/table_suite_leaderboard.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="table_suite_leaderboard 1",
        settings={"tasks": rows_of_suite_tasks(), "flags": suite_flags()},
    script:
        "../workflow_scripts/steps/table_suite_leaderboard.py"


rule table_suite_checks:
    """Table: rows of the leaderboard that are worth a look by a person."""
    input:
        leaderboard=rules.table_suite_leaderboard.output.csv,
        checks=rules.check_requests.output.checks,
        records=suite_records,
    output:
        csv="results/tables/suite_checks.csv",
        md="results/tables/suite_checks.md",
        tex="results/tables/suite_checks.tex",
    log:
        "logs/table_suite_checks.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="table_suite_checks 1",
        settings={
            "tasks": rows_of_suite_tasks(),
            "flags": suite_flags(),
            "source": SETTINGS.source,
        },
    script:
        "../workflow_scripts/steps/table_suite_checks.py"


rule table_suite_requests:
    """Table: how each request stands."""
    input:
        checks=rules.check_requests.output.checks,
        records=suite_records,
    output:
        csv="results/tables/suite_requests.csv",
        md="results/tables/suite_requests.md",
        tex="results/tables/suite_requests.tex",
    log:
        "logs/table_suite_requests.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="table_suite_requests 1",
    script:
        "../workflow_scripts/steps/table_suite_requests.py"


# What the leaderboard's page shows in its first tab.
rule board_suite:
    """The suite's tab of the leaderboard, as data for its page."""
    input:
        leaderboard=rules.table_suite_leaderboard.output.csv,
        found=rules.table_suite_checks.output.csv,
        checks=rules.check_requests.output.checks,
        records=suite_records,
    output:
        tab="results/report/tabs/suite.json",
    log:
        "logs/board_suite.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="board_suite 1",
        settings={
            "tasks": rows_of_suite_tasks(),
            "shown_items": SETTINGS.suite.shown_items,
        },
    script:
        "../workflow_scripts/steps/board_suite.py"


rule suite:
    """Study: submitted models on a suite of tasks, checked before they are run."""
    input:
        # The records too, or a deleted one would stay away while its table is there.
        [
            suite_records,
            rules.table_suite_leaderboard.output,
            rules.table_suite_checks.output,
            rules.table_suite_requests.output,
            rules.board_suite.output,
        ]
        if "suite" in RECORDS
        else [],
