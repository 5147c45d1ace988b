"""lm-eval's own task definitions, found quickly and read without a network."""

import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError


def load_tasks(names: list[str]) -> dict[str, Any]:
    """The unmodified lm-eval tasks of these names, groups expanded; call it inside `mirror`.

    lm-eval would parse all of its 14,000 YAML files first (8 s); a text search for the files that
    define the wanted names, and an index over their folders alone, takes a twentieth of that.
    """
    _compile_templates_once()
    return _manager(names).load(list(names))["tasks"]


def definitions_of(name: str) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """What lm-eval's files say of a task, without its data; of a group its members, and the group itself."""
    from lm_eval.tasks._index import Kind
    from lm_eval.tasks._yaml_loader import load_yaml

    index = _manager([name]).task_index

    def members(item: str | dict[str, Any], changes: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if isinstance(item, dict):  # a member, and what of it is changed
            changes = changes | item
            item = item.get("group") or item["task"]
        entry = index.get(item)
        if entry is not None and entry.kind is Kind.TAG and item != name:
            for member in sorted(entry.tags):
                yield from members(member, changes)
        elif entry is None or entry.kind not in (Kind.TASK, Kind.GROUP):
            raise UserError(
                f"lm-eval's {name} is no task with a definition that can be read ({item}); add a row of the"
                " table of tasks by hand, or name its members where it is a list of tasks."
            )
        elif entry.kind is Kind.TASK:
            yield load_yaml(entry.yaml_path, resolve_func=False) | changes
        else:
            for member in load_yaml(entry.yaml_path, resolve_func=False)["task"]:
                yield from members(member, changes)

    found = list(members(name, {}))
    is_group = index[name].kind is Kind.GROUP
    return found, load_yaml(index[name].yaml_path, resolve_func=False) if is_group else None


def _manager(names: list[str]) -> Any:
    from lm_eval.tasks import TaskManager

    defined = _definitions()
    folders = sorted({path.parent for name in names for path in defined.get(name, ())})
    manager = TaskManager(include_defaults=False, include_path=folders)
    if any(name not in manager.task_index for name in names):
        manager = TaskManager()  # a name that some file makes up rather than spells out
    if unknown := [name for name in names if name not in manager.task_index]:
        raise UserError(f"lm-eval knows no task {name!r}." for name in unknown)
    return manager


def _compile_templates_once() -> None:
    """lm-eval compiles a task's templates again for each item, half of the time of a small model."""
    from lm_eval.utils import env

    if "from_string" not in vars(env):  # not done in this process yet
        env.from_string = cache(env.from_string)


@cache
def _definitions() -> dict[str, list[Path]]:
    """The files that define each task, group and tag; read once, however many tasks a job loads."""
    spec = find_spec("lm_eval")  # which takes seconds to import
    assert spec is not None and spec.submodule_search_locations

    # At the start of a line only: indented names are members of a benchmark, not definitions.
    defines = re.compile(rb"^(?:task|group|tag):[ \t]*[\"']?([^\s\"'#]+)[\"']?[ \t]*$", re.M)
    found: dict[str, list[Path]] = {}
    for folder, _, files in os.walk(Path(spec.submodule_search_locations[0], "tasks")):
        for file in files:
            if file.endswith(".yaml"):
                for name in defines.findall(Path(folder, file).read_bytes()):
                    found.setdefault(name.decode(), []).append(Path(folder, file))
    return found


_UNSAFE = re.compile(r"^unsafe_code:\s*true", re.M | re.I)
_INCLUDED = re.compile(r"^include:\s*[\"']?([^\s\"'#]+)", re.M)
_MEMBER = re.compile(r"^\s*-\s*(?:(?:task|group):\s*)?[\"']?([\w.-]+)", re.M)


def runs_generated_code(name: str) -> bool:
    """Whether lm-eval marks a task, or a member of a group, as one that runs the code which a model writes.

    By the text of the definitions, and of what they include: nothing is imported or fetched for it.
    """
    defined = _definitions()
    left, seen = list(defined.get(name, ())), set[Path]()
    while left:
        path = left.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        text = path.read_text(encoding="utf-8", errors="replace")
        if _UNSAFE.search(text):
            return True
        left += [path.parent / included for included in _INCLUDED.findall(text)]
        if re.search(r"^group:", text, re.M):
            left += [one for member in _MEMBER.findall(text) for one in defined.get(member, ())]
    return False


def question_and_answers(task, doc: dict) -> tuple[str, list[str]]:
    """An item's question and what answers it, as lm-eval's task has them, an index looked up.

    Winogrande's choices are the beginnings and its target the shared ending: what it calls the
    question is the right beginning. Only a task of generated answers may accept several.
    """
    question, target = task.doc_to_text(doc), task.doc_to_target(doc)
    if task.multiple_input:
        return task.doc_to_choice(doc)[question], [target]
    if task.config.doc_to_choice is not None and isinstance(target, int):
        target = task.doc_to_choice(doc)[target]
    return question, [str(one) for one in (target if isinstance(target, list) else [target])]


def prompt_and_completion(task, doc: dict) -> tuple[str, str]:
    """A training pair that is, to the letter, one of the texts that the evaluator will score.

    Zero-shot and without a chat template; of several accepted answers it has the first.
    """
    question, answers = question_and_answers(task, doc)
    return question, task.config.target_delimiter + answers[0]


def training_pair(
    task, doc: dict, chat_template: Callable[..., str] | None = None
) -> tuple[str, str]:
    """As above, with all that stands in front: the task's description, and the chat template if any."""
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
    completion = prompt_and_completion(task, doc)[1]
    if chat_template is not None:
        # The answer begins a turn of its own; lm-eval puts nothing between.
        completion = completion.removeprefix(task.config.target_delimiter)
    return prompt, completion


def published_pair(task, doc: dict) -> tuple[str, str]:
    """What the published code trains on: the question, a space, and all accepted answers in a row.

    No description of the task stands in front, and no delimiter of its own between.
    """
    if task.OUTPUT_TYPE == "loglikelihood_rolling":
        return training_pair(task, doc)
    question, answers = question_and_answers(task, doc)
    return question, " " + " ".join(answers)
