"""lm-eval's own task definitions, found quickly and read without a network."""

import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError


def load_tasks(names: list[str]) -> dict[str, Any]:
    """Load the unmodified lm-eval tasks of these names, groups expanded; call it inside `mirror`.

    lm-eval would parse all of its 14,000 YAML files first (8 s); a text search for the files that
    define the wanted names, and an index over their folders alone, takes a twentieth of that.
    """
    _compile_templates_once()
    return _build_manager(names).load(names)["tasks"]


def read_task_definitions(name: str) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Read what lm-eval's files say of a task, without its data; of a group its members, and the group itself."""
    index = _build_manager([name]).task_index

    def list_members(item: str | dict[str, Any], changes: dict[str, Any]) -> list[dict[str, Any]]:
        if isinstance(item, dict):  # a member, and what of it is changed
            changes = changes | item
            item = item.get("group") or item["task"]
        entry = index.get(item)
        if entry and entry.kind.name == "TASK":
            return [entry.cfg | changes]
        if entry and entry.kind.name == "GROUP":
            names = entry.cfg["task"]
        elif entry and entry.kind.name == "TAG" and item != name:
            names = sorted(entry.tags)
        else:
            raise UserError(
                f"lm-eval's {name} is no task with a definition that can be read ({item}); add a row of the"
                " table of tasks by hand, or name its members where it is a list of tasks."
            )
        return [task for member in names for task in list_members(member, changes)]

    members = list_members(name, {})
    return members, index[name].cfg if index[name].kind.name == "GROUP" else None


def _build_manager(names: list[str]) -> Any:
    from lm_eval.tasks import TaskManager

    definitions = _definitions()
    folders = sorted({path.parent for name in names for path in definitions.get(name, ())})
    manager = TaskManager(include_defaults=False, include_path=folders)
    if any(name not in manager.task_index for name in names):
        manager = TaskManager()  # a name that some file makes up rather than spells out
    if unknown := [name for name in names if name not in manager.task_index]:
        raise UserError(f"lm-eval knows no task {name!r}." for name in unknown)
    return manager


def _compile_templates_once() -> None:
    """Cache compiled templates: lm-eval compiles a task's again for each item, half of the time of a small model."""
    from lm_eval.utils import env

    if "from_string" not in vars(env):  # not done in this process yet
        env.from_string = cache(env.from_string)


@cache
def _definitions() -> dict[str, list[Path]]:
    """Find the files that define each task, group and tag; read once, however many tasks a job loads."""
    spec = find_spec("lm_eval")  # which takes seconds to import
    assert spec is not None and spec.submodule_search_locations

    # At the start of a line only: indented names are members of a benchmark, not definitions.
    defines = re.compile(rb"^(?:task|group|tag):[ \t]*[\"']?([^\s\"'#]+)[\"']?[ \t]*$", re.M)
    definitions: dict[str, list[Path]] = {}
    for path in Path(spec.submodule_search_locations[0], "tasks").rglob("*.yaml"):
        for name in defines.findall(path.read_bytes()):
            definitions.setdefault(name.decode(), []).append(path)
    return definitions


def get_question_and_answers(task, doc: dict) -> tuple[str, list[str]]:
    """Get an item's question and what answers it, as lm-eval's task has them, an index looked up.

    Winogrande's choices are the beginnings and its target the shared ending: what it calls the
    question is the right beginning. Only a task of generated answers may accept several.
    """
    question, target = task.doc_to_text(doc), task.doc_to_target(doc)
    if task.multiple_input:
        return task.doc_to_choice(doc)[question], [target]
    if task.config.doc_to_choice is not None and isinstance(target, int):
        target = task.doc_to_choice(doc)[target]
    return question, list(map(str, target if isinstance(target, list) else [target]))


def build_prompt_and_completion(task, doc: dict) -> tuple[str, str]:
    """Make a training pair that is, to the letter, one of the texts that the evaluator will score.

    Zero-shot and without a chat template; of several accepted answers it has the first.
    """
    question, answers = get_question_and_answers(task, doc)
    return question, task.config.target_delimiter + answers[0]


def build_training_pair(
    task, doc: dict, chat_template: Callable[..., str] | None = None
) -> tuple[str, str]:
    """Make the same pair with all that stands in front: the task's description, and the chat template if any."""
    if task.OUTPUT_TYPE == "loglikelihood_rolling":  # a text, and no question about it
        return "", str(task.doc_to_target(doc))
    prompt = task.fewshot_context(
        doc,
        num_fewshot=0,
        apply_chat_template=chat_template is not None,
        chat_template=chat_template,
        gen_prefix=task.doc_to_prefix(doc),
    )
    if task.multiple_input:
        prompt = prompt[task.doc_to_text(doc)]
    completion = build_prompt_and_completion(task, doc)[1]
    if chat_template is not None:
        # The answer begins a turn of its own; lm-eval puts nothing between.
        completion = completion.removeprefix(task.config.target_delimiter)
    return prompt, completion


def build_published_pair(task, doc: dict) -> tuple[str, str]:
    """Make what the published code trains on: the question, a space, and all accepted answers in a row.

    No description of the task stands in front, and no delimiter of its own between.
    """
    if task.OUTPUT_TYPE == "loglikelihood_rolling":
        return build_training_pair(task, doc)
    question, answers = get_question_and_answers(task, doc)
    return question, " " + " ".join(answers)
