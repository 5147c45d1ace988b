"""meta-llama/Llama-3.2-1B-Instruct-evals, MMLU details: the vendor's finished prompts.

A prompt is one string that already holds the chat format's header tokens, five worked examples and
the question, and stops where the letter is due.
"""

from datasets import List

from workflow_scripts.miniature.datasets import chat, mmlu
from workflow_scripts.miniature.items import STRING, Repository, Row, columns
from workflow_scripts.miniature.world import World

CONFIG = "Llama-3.2-1B-Instruct-evals__mmlu__details"
_ANSWER_OPENING = "The best answer is"


def build(world: World, items: int) -> list[Repository]:
    per_subject = mmlu.rows_by_subject(world, items)
    rows = [
        _row(subject, per_subject[subject]["dev"], row)
        for subject in mmlu.SUBJECTS
        for row in per_subject[subject]["test"]
    ]
    features = columns(
        "task_name subtask_name input_question",
        input_choice_list=dict.fromkeys("ABCD", STRING),
        input_final_prompts=List(STRING),
        input_correct_responses=List(STRING),
    )
    repository = Repository(
        "meta-llama/Llama-3.2-1B-Instruct-evals", {CONFIG: (features, {"latest": rows})}
    )
    return [repository]


def _row(subject: str, examples: list[Row], row: Row) -> Row:
    turns = [
        _turn("user", chat.letter_question(e)) + _turn("assistant", chat.letter_response(e))
        for e in examples
    ]
    question = _turn("user", chat.letter_question(row))
    opening = f"<|start_header_id|>assistant<|end_header_id|>\n\n{_ANSWER_OPENING}"
    return {
        "task_name": "mmlu_chat",
        "subtask_name": f"mmlu_chat.{subject}",
        "input_question": row["question"],
        "input_choice_list": dict(zip("ABCD", row["choices"], strict=True)),
        "input_final_prompts": ["<|begin_of_text|>" + "".join(turns) + question + opening],
        "input_correct_responses": ["ABCD"[row["answer"]]],
    }


def _turn(role: str, text: str) -> str:
    return f"<|start_header_id|>{role}<|end_header_id|>\n\n{text}<|eot_id|>"
