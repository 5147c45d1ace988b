"""The leaderboard: submitted models, checked before they cost anything, on a suite of tasks."""

from workflow_scripts.settings.suite_tables import suite_board, suite_tables


# Which rows there are is known once this has run: what it refuses is never asked anything.
checkpoint check_requests:
    """Check every request of the leaderboard before it costs anything."""
    input:
        sources=[suite_source(request) for request in SUITE_REQUESTS.values()],
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
        settings={
            "plan": suite_plan(),
            "refused": SUITE_REFUSED,
            "aside": SETTINGS.requests_aside,
            "memory_mb": SETTINGS.suite.memory_mb,
            "open_licences": SETTINGS.suite.open_licences,
        },
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


for _pack, _tasks in SUITE_PACKS["few_shot"].items():

    rule:
        """Measure a submitted model on a task of the suite."""
        name:
            f"evaluate_suite{_pack}"
        input:
            model=suite_model,
            data=harmony_datasets(_tasks),
        output:
            records=suite_outputs("few_shot", _tasks, "json"),
            answers=suite_outputs("few_shot", _tasks, "parquet"),
        log:
            f"logs/evaluate_suite/{{row}}/{harmony_label(_pack, _tasks)}.log",
        benchmark:
            f"benchmarks/evaluate_suite/{{row}}/{harmony_label(_pack, _tasks)}.tsv"
        wildcard_constraints:
            row=one_of(SUITE_ROWS),
        retries: retries(CELL_RETRIES["few_shot"])
        conda:
            EVALUATION_ENVIRONMENT
        threads: SETTINGS.compute.threads
        resources:
            **planned(f"evaluate_suite{_pack}", suite_need("few_shot", _tasks)),
            tries_left=tries_left("few_shot"),
        params:
            version="evaluate_suite 1",  # raise it when the meaning of the record changes
            compute_threads=SETTINGS.compute.threads,
            settings=suite_settings("few_shot", _tasks),
        script:
            "../workflow_scripts/steps/evaluate_suite.py"


for _pack, _tasks in SUITE_PACKS["train_before_test"].items():

    rule:
        """Train a submitted model on a task of the suite, then measure it on that."""
        name:
            f"train_suite{_pack}"
        input:
            model=suite_model,
            data=harmony_datasets(_tasks),
        output:
            records=suite_outputs("train_before_test", _tasks, "json"),
            answers=suite_outputs("train_before_test", _tasks, "parquet"),
        log:
            f"logs/train_suite/{{row}}/{harmony_label(_pack, _tasks)}.log",
        benchmark:
            f"benchmarks/train_suite/{{row}}/{harmony_label(_pack, _tasks)}.tsv"
        wildcard_constraints:
            row=one_of(SUITE_ROWS),
        retries: retries(CELL_RETRIES["train_before_test"])
        conda:
            EVALUATION_ENVIRONMENT
        threads: SETTINGS.compute.threads
        resources:
            **planned(f"train_suite{_pack}", suite_need("train_before_test", _tasks)),
            tries_left=tries_left("train_before_test"),
        params:
            version="train_suite 1",
            compute_threads=SETTINGS.compute.threads,
            settings=suite_settings("train_before_test", _tasks),
        script:
            "../workflow_scripts/steps/train_suite.py"


if SUITE_REQUESTS or SUITE_REFUSED:
    RECORDS["suite"] = suite_records


use rule table from tables as table_suite_leaderboard with:
    """Table: submitted models on the suite of tasks, with their average."""
    input:
        scores="results/scores/suite.parquet",
        checks="results/requests/checks.json",
    output:
        **table_files("suite_leaderboard"),
    log:
        "logs/table_suite_leaderboard.log",
    params:
        table="studies.suite.leaderboard",
        request=suite_tables(SETTINGS).as_params(),


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
    params:
        table="studies.suite.checks",
        request=suite_tables(SETTINGS).as_params(),


use rule table from tables as table_suite_requests with:
    """Table: how each request stands."""
    input:
        checks="results/requests/checks.json",
        records=suite_records,
    output:
        **table_files("suite_requests"),
    log:
        "logs/table_suite_requests.log",
    params:
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
    params:
        function="studies.suite.board.board_suite",
        request=suite_board(SETTINGS).as_params(),


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
