"""What the rules of the leaderboard are given: requests by row, packs of tasks, and settings by name."""

import json

from workflow_scripts.miniature import catalogue
from workflow_scripts.settings.harmony import packs
from workflow_scripts.settings.requests import GENERATED

# Of the generated world there is nothing else to fetch, and a name it lacks must stop no other.
SUITE_UNKNOWN = {
    file: f"name is {request.name!r}, and there is no such model in the miniature world."
    for file, request in SETTINGS.requests.items()
    if request.checkpoint.model.startswith(GENERATED)
    and request.checkpoint.model.removeprefix(GENERATED)
    not in (*catalogue.MODELS, *catalogue.FAULTY)
}
SUITE_REQUESTS = {
    file: request for file, request in SETTINGS.requests.items() if file not in SUITE_UNKNOWN
}
SUITE_REFUSED = SETTINGS.refused_requests | SUITE_UNKNOWN
# By the name of a row in paths; of two requests for one row the second will be refused.
SUITE_ROWS = {request.row.in_path: request for request in SUITE_REQUESTS.values()}
SUITE_TASKS = {
    protocol: [
        entry.task
        for entry in SETTINGS.suite.tasks
        if protocol == "few_shot" or SETTINGS.task(entry.task).training
    ]
    for protocol in ("few_shot", "train_before_test")
}
SUITE_PACKS = {
    protocol: packs(tasks, SETTINGS.suite.tasks_per_job) if tasks else {}
    for protocol, tasks in SUITE_TASKS.items()
}
# Set by what only plans (workflow_scripts/planning/jobs.py) while the requests are not checked yet.
AS_IF_ACCEPTED = False
# Its digits repeat nothing, which Snakemake would take for a mistake.
ANY_COMMIT = "9a3c5e1f7b2d4068ace13579bdf02468f1e0d2c3"
SUITE_RULES = {"few_shot": "evaluate_suite", "train_before_test": "train_suite"}


def suite_source(request):
    """What a request is checked by: the hub folder's model, or what was fetched to check it."""
    model = request.checkpoint.model
    if SETTINGS.source == "miniature":
        return manifest_of("model", model)
    return f"{HUB}/submitted/{model}@{request.revision or 'default'}/metadata.json"


def suite_model(wildcards):
    """A model of the hub at the commit that was checked, whatever its branch is at by now."""
    request = SUITE_ROWS[wildcards.row]
    if SETTINGS.source == "miniature" or request.checkpoint.variant:
        return manifest_of_checkpoint(request.checkpoint)
    (commit,) = {one["commit"] for one in suite_checked() if one["row"] == wildcards.row}
    return manifest_of("model", f"{request.name}@{commit}")


def suite_outputs(protocol, tasks, suffix):
    return [f"results/records/suite/{protocol}/{{row}}/{task}.{suffix}" for task in tasks]


def suite_logs(protocol, row):
    """The log of each task of a row: of the job that measures it."""
    return {
        task: f"logs/{SUITE_RULES[protocol]}/{row}/{harmony_label(pack, tasks)}.log".format(
            task=task
        )
        for pack, tasks in SUITE_PACKS[protocol].items()
        for task in (SUITE_TASKS[protocol] if tasks == ("{task}",) else tasks)
    }


def suite_record_files(request):
    """By task."""
    folder = f"results/records/suite/{request.protocol}/{request.row.in_path}"
    return {task: f"{folder}/{task}.json" for task in SUITE_TASKS[request.protocol]}


def suite_plan():
    """Every request, how it is checked, and where the records and logs of its row will lie."""
    return {
        file: {
            "request": request.model_dump(mode="json"),
            "row": request.row.in_path,
            "source": suite_source(request),
            "built": (
                manifest_of_checkpoint(request.checkpoint) if request.checkpoint.variant else None
            ),
            "records": suite_record_files(request),
            "logs": suite_logs(request.protocol, request.row.in_path),
        }
        for file, request in SUITE_REQUESTS.items()
    }


def suite_checked():
    """The accepted requests, once they are checked."""
    if AS_IF_ACCEPTED:
        return suite_as_if_accepted()
    checks = Path(checkpoints.check_requests.get().output.checks)
    entries = json.loads(checks.read_text(encoding="utf-8"))
    return [entry for entry in entries if not entry["reason"]]


def suite_as_if_accepted():
    """Every request that can be read, at the commit of an earlier check, or at one that stands for any."""
    last = Path("results/requests/checks.json")
    checked = json.loads(last.read_text(encoding="utf-8")) if last.exists() else []
    commits = {one["row"]: one.get("commit") for one in checked}
    return [
        {
            "row": request.row.in_path,
            "records": suite_record_files(request),
            "commit": request.revision or commits.get(request.row.in_path) or ANY_COMMIT,
        }
        for request in SUITE_REQUESTS.values()
    ]


def suite_records(wildcards):
    """Of the rows whose requests were accepted."""
    return [path for one in suite_checked() for path in one["records"].values()]


def suite_settings(protocol, tasks):
    """As harmony_settings; the precision is the request's."""

    def settings(wildcards):
        compute = SETTINGS.compute
        precision = SUITE_ROWS[wildcards.row].precision
        flash = compute.attention == "flash_attention_2"
        wanted = tasks_of_job(tasks, wildcards)
        entries = {one.task: one for one in SETTINGS.suite.tasks if one.task in wanted}
        found = {
            "tasks": {
                name: [
                    SETTINGS.task(name).harness_task,
                    one.metric or SETTINGS.task(name).full_metric,
                    SETTINGS.task(name).dataset,
                ]
                for name, one in entries.items()
            },
            "differing": {
                name: {
                    "shots": one.shots if protocol == "few_shot" else 0,
                    "max_items": one.max_items or SETTINGS.suite.max_items,
                }
                for name, one in entries.items()
            },
            "question": {
                "study": "suite",
                "protocol": protocol,
                "shots": 0,
                "max_items": None,
                "max_items_per_member": True,
                "keep_texts": True,
                "seed": SETTINGS.seed,
                "threads": compute.threads,
                "device": compute.device,
                "dtype": precision,
                "attention": "auto" if flash and precision == "float32" else compute.attention,
                "batch_size": compute.batch_size,
            },
        }
        if protocol == "train_before_test":
            recipe = SETTINGS.harmony.task_recipe(SETTINGS.source)
            found |= {"keys": recipe.training_keys, "protocol": recipe.protocol_keys}
        return found

    return settings


def suite_need(protocol, tasks):
    """Of a job: a row on one task or several; a row may be measured both ways."""

    def need(wildcards):
        request = SUITE_ROWS[wildcards.row].model_copy(update={"protocol": protocol})
        return PLANNER.suite_row(request, tuple(tasks_of_job(tasks, wildcards)))

    return need
