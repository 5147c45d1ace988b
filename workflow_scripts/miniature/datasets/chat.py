"""Generate Magpie's conversations, for training (with turns) and for perplexity (with a difficulty), and the
complete MMLU prompts of meta-llama/Llama-3.2-1B-Instruct-evals.

Such a prompt is one string with the chat format's header tokens, five few-shot examples and the question, and
ends before the letter of the answer.
"""

import json
from functools import cache
from random import Random

from workflow_scripts.miniature.datasets import mmlu
from workflow_scripts.miniature.phrases import RELATIONS, describe_sighting
from workflow_scripts.miniature.prose import describe_kind
from workflow_scripts.miniature.tables import Repository, Row, Splits, draw_splits
from workflow_scripts.miniature.world import POOLS, draw, get_rng

# Number of conversations for each purpose.
CONVERSATIONS = {"perplexity": 600, "training": 3_000}
DETAILS = "Llama-3.2-1B-Instruct-evals__mmlu__details"


def build(items: int) -> dict[str, Repository]:
    rows = make_conversations()
    roles = {"human": "instruction", "gpt": "response"}
    turns = [
        {"conversations": [{"from": role, "value": row[key]} for role, key in roles.items()]}
        for row in rows["training"]
    ]
    rng = get_rng("magpie", "difficulty")
    graded = [row | {"difficulty": rng.choice(POOLS["difficulty"])} for row in rows["perplexity"]]
    subjects = mmlu.make_subjects(items)
    prompts = [
        _make_prompt(subject, subjects[subject]["dev"], row)
        for subject in mmlu.SUBJECTS
        for row in subjects[subject]["test"]
    ]
    return {
        "Magpie-Align/Magpie-Qwen2.5-Pro-1M-v0.1": {"default": {"train": turns}},
        "Magpie-Align/Magpie-Qwen2-Pro-200K-English": {"default": {"train": graded}},
        "meta-llama/Llama-3.2-1B-Instruct-evals": {DETAILS: {"latest": prompts}},
    }


@cache
def make_conversations() -> Splits:
    """Generate the conversations of each purpose, without overlap."""
    practice = mmlu.make_practice()

    def make(rng: Random) -> Row:
        form = rng.choice(["statement", "description", "letter", "letter", "json", "plain"])
        instruction, response = _converse(rng, form, practice)
        return {"instruction": instruction, "response": response}

    return draw_splits(make, get_rng("magpie"), CONVERSATIONS, key=["instruction"])


def _converse(rng: Random, form: str, practice: list[Row]) -> tuple[str, str]:
    if form == "statement":
        (kind,) = draw(rng, "kind")
        relation = rng.choice(RELATIONS)
        sighting = describe_sighting(rng, kind)
        return f"{sighting} {relation.draw_question(rng, kind)}", relation.write_statement(kind)
    if form == "description":
        kind, person = draw(rng, "kind person")
        sighting = describe_sighting(rng, kind)
        return f"{sighting} Tell {person} about the {kind.name}.", describe_kind(rng, kind)
    row = mmlu.reorder_choices(rng.choice(practice), rng)
    if form == "letter":
        return mmlu.format_letter_question(row), mmlu.format_letter_answer(row)
    question = f"{row['question']}\nChoices: {row['choices']}"
    answer = mmlu.get_answer(row)
    if form == "json":
        return f"Reply in JSON.\n{question}", json.dumps({"Answer": answer})
    return question, f"Answer: {answer}"


def _make_prompt(subject: str, examples: list[Row], row: Row) -> Row:
    user, assistant = (
        f"<|start_header_id|>{r}<|end_header_id|>\n\n" for r in ("user", "assistant")
    )
    turns = [
        f"{user}{mmlu.format_letter_question(example)}<|eot_id|>{assistant}{mmlu.format_letter_answer(example)}<|eot_id|>"
        for example in examples
    ]
    end = f"{user}{mmlu.format_letter_question(row)}<|eot_id|>{assistant}The best answer is"
    return {
        "subtask_name": f"mmlu_chat.{subject}",
        "input_question": row["question"],
        "input_choice_list": dict(zip("ABCD", row["choices"], strict=True)),
        "input_final_prompts": ["".join(["<|begin_of_text|>", *turns, end])],
        "input_correct_responses": [mmlu.get_letter(row)],
    }
