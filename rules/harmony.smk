"""The Harmony grid: each model on each task, as it is, with examples, and after training on it."""

# A job takes one task of a model, or several (harmony.tasks_per_job); then each pack has a rule.
for _pack, _tasks in HARMONY_PACKS["direct"].items():

    rule:
        """Measure a model on tasks as it is, with lm-eval."""
        name:
            f"evaluate_direct{_pack}"
        input:
            model=checkpoint_manifest,
            data=harmony_datasets(_tasks),
        output:
            records=harmony_outputs("direct", _tasks, "json"),
            answers=harmony_outputs("direct", _tasks, "parquet"),
        log:
            f"logs/evaluate_direct/{{checkpoint}}/{harmony_label(_pack, _tasks)}.log",
        benchmark:
            f"benchmarks/evaluate_direct/{{checkpoint}}/{harmony_label(_pack, _tasks)}.tsv"
        wildcard_constraints:
            checkpoint=one_of(HARMONY_MODELS),
        retries: retries(CELL_RETRIES["direct"])
        conda:
            EVALUATION_ENVIRONMENT
        threads: SETTINGS.compute.threads
        resources:
            **planned(f"evaluate_direct{_pack}", harmony_need("direct", _tasks)),
            tries_left=tries_left("direct"),
        params:
            version="evaluate_direct 3",  # raise it when the meaning of the record changes
            compute_threads=SETTINGS.compute.threads,
            settings=harmony_settings("direct", _tasks),
        script:
            "../workflow_scripts/steps/evaluate_direct.py"


for _pack, _tasks in HARMONY_PACKS["few_shot"].items():

    rule:
        """Measure a model on tasks with worked examples in front."""
        name:
            f"evaluate_few_shot{_pack}"
        input:
            model=checkpoint_manifest,
            data=harmony_datasets(_tasks),
        output:
            records=harmony_outputs("few_shot", _tasks, "json"),
            answers=harmony_outputs("few_shot", _tasks, "parquet"),
        log:
            f"logs/evaluate_few_shot/{{checkpoint}}/{harmony_label(_pack, _tasks)}.log",
        benchmark:
            f"benchmarks/evaluate_few_shot/{{checkpoint}}/{harmony_label(_pack, _tasks)}.tsv"
        wildcard_constraints:
            checkpoint=one_of(HARMONY_MODELS),
        retries: retries(CELL_RETRIES["few_shot"])
        conda:
            EVALUATION_ENVIRONMENT
        threads: SETTINGS.compute.threads
        resources:
            **planned(f"evaluate_few_shot{_pack}", harmony_need("few_shot", _tasks)),
            tries_left=tries_left("few_shot"),
        params:
            version="evaluate_few_shot 1",
            compute_threads=SETTINGS.compute.threads,
            settings=harmony_settings("few_shot", _tasks),
        script:
            "../workflow_scripts/steps/evaluate_few_shot.py"


for _pack, _tasks in HARMONY_PACKS["train_before_test"].items():

    rule:
        """Train a model on each task, then measure it on that."""
        name:
            f"train_before_test{_pack}"
        input:
            model=checkpoint_manifest,
            data=harmony_datasets(_tasks),
        output:
            records=harmony_outputs("train_before_test", _tasks, "json"),
            answers=harmony_outputs("train_before_test", _tasks, "parquet"),
        log:
            f"logs/train_before_test/{{checkpoint}}/{harmony_label(_pack, _tasks)}.log",
        benchmark:
            f"benchmarks/train_before_test/{{checkpoint}}/{harmony_label(_pack, _tasks)}.tsv"
        wildcard_constraints:
            checkpoint=one_of(HARMONY_MODELS),
        retries: retries(CELL_RETRIES["train_before_test"])
        conda:
            EVALUATION_ENVIRONMENT
        threads: SETTINGS.compute.threads
        resources:
            **planned(f"train_before_test{_pack}", harmony_need("train_before_test", _tasks)),
            tries_left=tries_left("train_before_test"),
        params:
            version="train_before_test 1",
            compute_threads=SETTINGS.compute.threads,
            settings=harmony_settings("train_before_test", _tasks),
        script:
            "../workflow_scripts/steps/train_before_test.py"


if HARMONY_MODELS:
    RECORDS["harmony"] = [
        path.format(checkpoint=model)
        for protocol, tasks in HARMONY_WANTED.items()
        for model in HARMONY_MODELS
        for path in harmony_outputs(protocol, tasks, "json")
    ]


rule harmony:
    """Study: models ranked on tasks as they are and after training on each, and whether tasks agree."""
    input:
        # The records too, or a deleted one would stay away while its table is there.
        [
            RECORDS["harmony"],
            expand(
                "results/tables/harmony_{table}.{kind}",
                table=[
                    "scores",
                    "leaderboard",
                    "agreement",
                    "components",
                    "significance",
                    "panel",
                ],
                kind=["csv", "md", "tex"],
            ),
            expand(
                "results/figures/harmony_{figure}.{kind}",
                figure=[
                    *["scores", "matrices", "agreement_by_task", "categories", "components"],
                    *["pc1_by_size", "bump", "panel"],
                ],
                kind=["pdf", "png"],
            ),
            HARMONY_PERPLEXITY,
        ]
        if HARMONY_MODELS
        else [],
