"""The leaderboard: submitted models, checked before they cost anything, on a suite of tasks."""

from workflow_scripts.studies.suite.table_requests import suite_board


# Which rows there are is known once this has run: what it refuses is never asked anything.
checkpoint check_requests:
    """Check every request of the leaderboard before it costs anything."""
    input:
        [source for sources in SUITE_CHECKS.sources.values() for source in sources],
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
        version="check_requests 2",  # raise it when a check changes its meaning
        function="studies.suite.submissions.write_checks",
        request=SUITE_CHECKS.as_params(),
    script:
        "../workflow_scripts/steps/files.py"


# Without an output: asked for by name it always says how the requests stand now.
use rule products as submit with:
    """Say of each request whether it is accepted, or why it is refused."""
    input:
        checks=rules.check_requests.output.checks,
        sources=[source for sources in SUITE_CHECKS.sources.values() for source in sources],
    log:
        "logs/submit.log",
    localrule: True
    params:
        version="submit 1",
        function="studies.suite.requests.submit",
        request={},


# What the leaderboard's page shows in its first tab.
use rule collect_scores as board_suite with:
    """The suite's tab of the leaderboard, as data for its page."""
    input:
        leaderboard="results/tables/suite_leaderboard.csv",
        found="results/tables/suite_checks.csv",
        checks="results/requests/checks.json",
        records=suite_records,
        imports=import_folders(SETTINGS),
    output:
        tab="results/report/tabs/suite.json",
    log:
        "logs/board_suite.log",
    localrule: True
    params:
        version=3,
        function="studies.suite.board.board_suite",
        request=suite_board(SETTINGS).as_params(),


rule suite:
    """Study: submitted models on a suite of tasks, checked before they are run."""
    input:
        made_of("suite"),
        [suite_records, "results/report/tabs/suite.json"] if "suite" in RECORDS else [],
        # What requests are checked by too, or what the hub did not give would not be asked for again.
        [source for sources in SUITE_CHECKS.sources.values() for source in sources],
