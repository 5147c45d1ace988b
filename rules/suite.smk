"""The leaderboard: submitted models, checked before they cost anything, on a suite of tasks."""

from workflow_scripts.settings.suite_tables import suite_board, suite_tables

SUITE_BASELINES = published_file("suite_baselines.tsv")


# Which rows there are is known once this has run: what it refuses is never asked anything.
checkpoint check_requests:
    """Check every request of the leaderboard before it costs anything."""
    input:
        sources=[one.source for one in SUITE_CHECKS.submissions.values()],
        bases=[one.base_source for one in SUITE_CHECKS.submissions.values() if one.base_source],
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


use rule table from tables as table_suite_leaderboard with:
    """Table: submitted models on the suite of tasks, with their average."""
    input:
        scores="results/scores/suite.parquet",
        checks="results/requests/checks.json",
    output:
        **table_files("suite_leaderboard"),
    log:
        "logs/table_suite_leaderboard.log",
    localrule: True
    params:
        version=2,  # floors, random answers and published baselines
        table="studies.suite.leaderboard",
        request=suite_tables(SETTINGS, SUITE_BASELINES).as_params(),


use rule table from tables as table_suite_checks with:
    """Table: rows of the leaderboard that are worth a look by a person."""
    input:
        leaderboard="results/tables/suite_leaderboard.csv",
        checks="results/requests/checks.json",
        records=suite_records,
    output:
        **table_files("suite_checks"),
    log:
        "logs/table_suite_checks.log",
    localrule: True
    params:
        version=1,
        table="studies.suite.checks",
        request=suite_tables(SETTINGS, SUITE_BASELINES).as_params(),


use rule table from tables as table_suite_requests with:
    """Table: how each request stands."""
    input:
        checks="results/requests/checks.json",
        records=suite_records,
    output:
        **table_files("suite_requests"),
    log:
        "logs/table_suite_requests.log",
    localrule: True
    params:
        version=1,
        table="studies.suite.requests_table",
        request={},


# What the leaderboard's page shows in its first tab.
use rule files from makers as board_suite with:
    """The suite's tab of the leaderboard, as data for its page."""
    input:
        leaderboard="results/tables/suite_leaderboard.csv",
        found="results/tables/suite_checks.csv",
        checks="results/requests/checks.json",
        records=suite_records,
    output:
        tab="results/report/tabs/suite.json",
    log:
        "logs/board_suite.log",
    localrule: True
    params:
        version=1,
        function="studies.suite.board.board_suite",
        request=suite_board(SETTINGS, SUITE_BASELINES).as_params(),


rule suite:
    """Study: submitted models on a suite of tasks, checked before they are run."""
    input:
        made_of("suite"),
        [suite_records, "results/report/tabs/suite.json"] if "suite" in RECORDS else [],
