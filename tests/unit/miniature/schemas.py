"""The columns of the real datasets, written out by hand: (repository, config) -> column -> type.

Types are spelled as in `datasets.Features`, class labels with their names, lists in brackets.
"""

STRING, INT32 = "string", "int32"
INFERENCE = ("entailment", "neutral", "contradiction")
TRUTH = ("False", "True")
LETTERED = {"label": [STRING], "text": [STRING]}
TARGETS = {"choices": [STRING], "labels": [INT32]}


def texts(*columns: str) -> dict[str, str]:
    return dict.fromkeys(columns, STRING)


def pair(first: str, second: str, labels: tuple[str, ...]) -> dict:
    return {first: STRING, second: STRING, "label": labels, "idx": INT32}


def lettered(question: str, *more: str) -> dict:
    return {**texts("id", question, *more, "answerKey"), "choices": LETTERED}


def sentence(*labels: str) -> dict:
    return {"sentence": STRING, "label": labels, "idx": INT32}


ALL = ("train", "validation", "test")
EXAM = ("test", "validation", "dev")
MNLI = (
    "train",
    *(f"{split}_{kind}" for split in ("validation", "test") for kind in ("matched", "mismatched")),
)
ANLI = tuple(f"{split}_r{i}" for i in (1, 2, 3) for split in ("train", "dev", "test"))
ENTAILMENT, PARAPHRASE = ("entailment", "not_entailment"), ("not_equivalent", "equivalent")
MMLU = {"question": STRING, "subject": STRING, "choices": [STRING], "answer": tuple("ABCD")}
WORDS_IN_CONTEXT = {
    **texts("word", "sentence1", "sentence2"),
    **dict.fromkeys(("start1", "start2", "end1", "end2", "idx"), INT32),
    "label": TRUTH,
}
HELLASWAG = {
    **texts("activity_label", "ctx_a", "ctx_b", "ctx", "source_id", "split", "split_type", "label"),
    **{"ind": INT32, "endings": [STRING]},
}
HEADQA = {
    **texts("name", "year", "category", "qtext"),
    **{"qid": INT32, "ra": INT32, "answers": [{"aid": INT32, "atext": STRING}]},
}
MATHQA = texts(
    "Problem", "Rationale", "options", "correct", "annotated_formula", "linear_formula", "category"
)
MEDMCQA = {
    **texts("id", "question", "opa", "opb", "opc", "opd"),
    **texts("choice_type", "exp", "subject_name", "topic_name"),
    "cop": tuple("abcd"),
}
VENDOR = {
    **texts("task_name", "subtask_name", "input_question"),
    **{
        "input_choice_list": texts(*"ABCD"),
        "input_final_prompts": [STRING],
        "input_correct_responses": [STRING],
    },
}

# (repository, config): (columns, splits)
EXPECTED = {
    ("nyu-mll/glue", "cola"): (sentence("unacceptable", "acceptable"), ALL),
    ("nyu-mll/glue", "sst2"): (sentence("negative", "positive"), ALL),
    ("nyu-mll/glue", "mnli"): (pair("premise", "hypothesis", INFERENCE), MNLI),
    ("nyu-mll/glue", "qnli"): (pair("question", "sentence", ENTAILMENT), ALL),
    ("nyu-mll/glue", "rte"): (pair("sentence1", "sentence2", ENTAILMENT), ALL),
    ("nyu-mll/glue", "mrpc"): (pair("sentence1", "sentence2", PARAPHRASE), ALL),
    ("nyu-mll/glue", "qqp"): (pair("question1", "question2", ("not_duplicate", "duplicate")), ALL),
    ("aps/super_glue", "boolq"): ({**texts("question", "passage"), "idx": INT32, "label": TRUTH}, ALL),
    ("aps/super_glue", "wic"): (WORDS_IN_CONTEXT, ALL),
    ("facebook/anli", "plain_text"): ({**texts("uid", "premise", "hypothesis", "reason"), "label": INFERENCE}, ANLI),
    ("tau/commonsense_qa", "default"): (lettered("question", "question_concept"), ALL),
    ("lighteval/siqa", "default"): (texts("context", "question", "answerA", "answerB", "answerC", "label"), ALL[:2]),
    ("allenai/winogrande", "winogrande_xl"): (texts("sentence", "option1", "option2", "answer"), ALL),
    ("allenai/openbookqa", "main"): (lettered("question_stem"), ALL),
    ("Rowan/hellaswag", "default"): (HELLASWAG, ALL),
    ("allenai/ai2_arc", "ARC-Easy"): (lettered("question"), ALL),
    ("allenai/ai2_arc", "ARC-Challenge"): (lettered("question"), ALL),
    ("EleutherAI/headqa", "en"): (HEADQA, ALL),
    ("regisss/math_qa", "default"): (MATHQA, ALL),
    ("openlifescienceai/medmcqa", "default"): (MEDMCQA, ALL),
    ("baber/piqa", "default"): ({**texts("goal", "sol1", "sol2"), "label": ("0", "1")}, ALL),
    ("allenai/sciq", "default"): (texts("question", "distractor3", "distractor1", "distractor2", "correct_answer", "support"), ALL),
    ("google-research-datasets/nq_open", "nq_open"): ({"question": STRING, "answer": [STRING]}, ALL[:2]),
    ("openai/gsm8k", "main"): (texts("question", "answer"), ("train", "test")),
    ("truthfulqa/truthful_qa", "multiple_choice"): ({"question": STRING, "mc1_targets": TARGETS, "mc2_targets": TARGETS}, ("validation",)),
    ("cais/mmlu", "anatomy"): (MMLU, EXAM),
    ("cais/mmlu", "all"): (MMLU, ("auxiliary_train", *EXAM)),
    ("lighteval/mmlu", "anatomy"): (MMLU, EXAM),
    ("EleutherAI/wikitext_document_level", "wikitext-2-raw-v1"): ({"page": STRING}, ALL),
    ("Salesforce/wikitext", "wikitext-103-raw-v1"): ({"text": STRING}, ALL),
    ("Salesforce/wikitext", "wikitext-103-v1"): ({"text": STRING}, ALL),
    ("Magpie-Align/Magpie-Qwen2.5-Pro-1M-v0.1", "default"): ({"conversations": [{"from": STRING, "value": STRING}]}, ("train",)),
    ("Magpie-Align/Magpie-Qwen2-Pro-200K-English", "default"): (texts("instruction", "response", "difficulty"), ("train",)),
    ("meta-llama/Llama-3.2-1B-Instruct-evals", "Llama-3.2-1B-Instruct-evals__mmlu__details"): (VENDOR, ("latest",)),
}  # fmt: skip
