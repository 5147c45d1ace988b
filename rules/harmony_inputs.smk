"""What the rules of the Harmony grid are given: models, packs of tasks, and settings by name."""

HARMONY_MODELS = [CheckpointId.parse(name).in_path for name in SETTINGS.harmony.models]
# Examples and training come from the training split, so a task without one is measured directly only.
HARMONY_TASKS = {
    protocol: [
        task
        for task in SETTINGS.harmony.tasks
        if protocol == "direct" or SETTINGS.task(task).training
    ]
    for protocol in ("direct", "few_shot", "train_before_test")
}
# Of these the config asks for some; the others' records can be asked for by name.
HARMONY_WANTED = {
    protocol: tasks
    for protocol, tasks in HARMONY_TASKS.items()
    if protocol in SETTINGS.harmony.protocols
}
# By protocol: the tasks of each job of a model, by what is added to the rule's name.
HARMONY_PACKS = {
    protocol: SETTINGS.harmony.packs(tasks) if tasks else {}
    for protocol, tasks in HARMONY_TASKS.items()
}

# Trained with another seed than the first, a cell's record says so in its name.
HARMONY_SEEDS = ["", *(f".seed-{seed}" for seed in SETTINGS.harmony.seeds[1:])]


def harmony_outputs(protocol, tasks, suffix):
    return [
        f"results/records/harmony/{protocol}/{{checkpoint}}/{task}{seed}.{suffix}"
        for task in tasks
        for seed in (HARMONY_SEEDS if protocol == "train_before_test" else [""])
    ]


def harmony_label(pack, tasks):
    """How a job's log is called: by its task, or by its pack."""
    return "{task}" if tasks == ("{task}",) else f"tasks{pack}"


def harmony_datasets(tasks):
    """Of the tasks of a job."""

    @signed
    def manifests(wildcards):
        names = [SETTINGS.task(task).dataset for task in tasks_of_job(tasks, wildcards)]
        return [manifest_of("dataset", name) for name in dict.fromkeys(names)]

    return manifests


def tasks_of_job(tasks, wildcards):
    return [wildcards.task] if tasks == ("{task}",) else list(tasks)


def harmony_settings(protocol, tasks):
    """Everything that a job depends on, by name.

    One parameter and not many: Snakemake compares the parameters of two runs as a set of bare
    values, in which `shots` going from 0 to 1 vanishes beside another 0 and another 1.
    """
    harmony, compute = SETTINGS.harmony, SETTINGS.compute
    common = {
        "study": "harmony",
        "protocol": protocol,
        "shots": harmony.shots if protocol == "few_shot" else 0,
        "max_items": harmony.max_test_items,
        "chat_template": harmony.chat_template,
        "seed": SETTINGS.seed,
        "threads": compute.threads,
        "device": compute.device,
        "dtype": compute.dtype,
        "attention": compute.attention,
        "batch_size": compute.batch_size,
    }
    training = {}
    if protocol == "train_before_test" and harmony.seeds:
        common["seed"] = harmony.seeds[0]
    if protocol == "train_before_test":
        recipe = harmony.task_recipe(SETTINGS.source)
        training = {"keys": recipe.training_keys, "protocol": recipe.protocol_keys}

    @signed
    def settings(wildcards):
        rows = [SETTINGS.task(task) for task in tasks_of_job(tasks, wildcards)]
        facts = {row.task: [row.harness_task, row.full_metric, row.dataset] for row in rows}
        return {"tasks": facts, "question": common} | training

    return settings


def harmony_need(protocol, tasks):
    """Of a job: several tasks add up in time, and the largest decides about memory."""

    def need(wildcards):
        names = tuple(tasks_of_job(tasks, wildcards))
        if protocol == "train_before_test":
            return PLANNER.training_before_test(wildcards.checkpoint, names)
        shots = SETTINGS.harmony.shots if protocol == "few_shot" else 0
        return PLANNER.evaluation(wildcards.checkpoint, names, shots)

    return need


def corpus_need(wildcards):
    text = Path(SETTINGS.harmony.corpora[wildcards.corpus])
    return PLANNER.corpus(wildcards.checkpoint, text.stat().st_size / 1e6)


def corpus_settings(wildcards):
    measures = SETTINGS.chunking.measures
    return {
        "corpus": wildcards.corpus,
        "keys": SETTINGS.harmony.task_recipe(SETTINGS.source).training_keys,
        **measures.model_dump(include={"window", "stride"}),
        "batch_size": SETTINGS.compute.batch_size,
        "compute": COMPUTE,
        "threads": SETTINGS.compute.threads,
        "seed": SETTINGS.seed,
    }
