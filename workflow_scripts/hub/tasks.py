"""Load lm-eval's own task definitions quickly and offline."""

import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError


def load_tasks(names: list[str]) -> dict[str, Any]:
    """Load the unmodified lm-eval tasks of these names, groups expanded; call it inside `mirror`.

    lm-eval would parse all of its 14,000 YAML files first (8 s). Searching them as text for these
    names and indexing only the folders that define them takes a twentieth of that.
    """
    _compile_templates_once()
    return _build_manager(names).load(names)["tasks"]


def read_task_definition(name: str) -> dict[str, Any]:
    """Return lm-eval's definition of a task, the keys of its YAML file, without its data."""
    entry = _build_manager([name]).task_index[name]
    if entry.kind.name != "TASK":
        raise UserError(
            f"lm-eval's {name} is a group of tasks; name its members, or add a row of the table of tasks by hand."
        )
    return entry.cfg


def _build_manager(names: list[str]) -> Any:
    """Build lm-eval's task manager with the folders that define these names."""
    from lm_eval.tasks import TaskManager

    definitions = _index_definitions()
    folders = sorted({path.parent for name in names for path in definitions.get(name, ())})
    manager = TaskManager(include_defaults=False, include_path=folders)
    if any(name not in manager.task_index for name in names):
        manager = TaskManager()  # some names are generated and not written in a file
    if unknown := [name for name in names if name not in manager.task_index]:
        raise UserError(f"lm-eval has no task {name!r}." for name in unknown)
    return manager


def _compile_templates_once() -> None:
    """Cache compiled templates: lm-eval compiles them for every item, half of a small model's run time."""
    from lm_eval.utils import env

    if "from_string" not in vars(env):  # not patched yet in this process
        env.from_string = cache(env.from_string)


@cache
def _index_definitions() -> dict[str, list[Path]]:
    """Find the files that define each task, group and tag; cached for the process."""
    import lm_eval.tasks

    # Only at the start of a line: indented names are members of a benchmark, not definitions.
    defines = re.compile(rb"^(?:task|group|tag):[ \t]*[\"']?([^\s\"'#]+)[\"']?[ \t]*$", re.M)
    definitions = defaultdict(list)
    for path in Path(lm_eval.tasks.__file__).parent.rglob("*.yaml"):
        for name in defines.findall(path.read_bytes()):
            definitions[name.decode()].append(path)
    return definitions


def get_question_and_answers(task, doc: dict) -> tuple[str, list[str]]:
    """Return an item's question and accepted answers from lm-eval's task, with a target index resolved.

    Winogrande's choices are beginnings and its target the shared ending, so the question is the
    correct beginning. Only generative tasks may have several answers.
    """
    question, target = task.doc_to_text(doc), task.doc_to_target(doc)
    if task.multiple_input:
        return task.doc_to_choice(doc)[question], [target]
    if task.config.doc_to_choice is not None and isinstance(target, int):
        target = task.doc_to_choice(doc)[target]
    return question, list(map(str, target if isinstance(target, list) else [target]))


def build_prompt_and_completion(task, doc: dict) -> tuple[str, str]:
    """Build a training pair that is identical to a text that the evaluator scores.

    It is zero-shot without a chat template, with the first of the accepted answers.
    """
    question, answers = get_question_and_answers(task, doc)
    return question, task.config.target_delimiter + answers[0]


def build_training_pair(
    task, doc: dict, chat_template: Callable[..., str] | None = None
) -> tuple[str, str]:
    """Build the prompt and completion to train on, with the task's description and, if given, the chat template."""
    if task.OUTPUT_TYPE == "loglikelihood_rolling":  # a plain text without a question
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
        # The answer is a new chat turn; lm-eval puts no delimiter before it.
        completion = completion.removeprefix(task.config.target_delimiter)
    return prompt, completion


def build_published_pair(task, doc: dict) -> tuple[str, str]:
    """Build the training pair of the published code: the question, a space, and all accepted answers.

    It has no task description, and a space instead of the task's delimiter.
    """
    if task.OUTPUT_TYPE == "loglikelihood_rolling":
        return build_training_pair(task, doc)
    question, answers = get_question_and_answers(task, doc)
    return question, " " + " ".join(answers)
