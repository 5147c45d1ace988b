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


GLUE_SPLITS = ("train", "validation", "test")
ALL = GLUE_SPLITS
MMLU = {"question": STRING, "subject": STRING, "choices": [STRING], "answer": tuple("ABCD")}

# (repository, config): (columns, splits)
EXPECTED = {
    ("nyu-mll/glue", "cola"): (
        {"sentence": STRING, "label": ("unacceptable", "acceptable"), "idx": INT32},
        GLUE_SPLITS,
    ),
    ("nyu-mll/glue", "mnli"): (
        pair("premise", "hypothesis", INFERENCE),
        (
            "train",
            "validation_matched",
            "validation_mismatched",
            "test_matched",
            "test_mismatched",
        ),
    ),
    ("nyu-mll/glue", "qnli"): (
        pair("question", "sentence", ("entailment", "not_entailment")),
        GLUE_SPLITS,
    ),
    ("nyu-mll/glue", "rte"): (
        pair("sentence1", "sentence2", ("entailment", "not_entailment")),
        GLUE_SPLITS,
    ),
    ("nyu-mll/glue", "mrpc"): (
        pair("sentence1", "sentence2", ("not_equivalent", "equivalent")),
        GLUE_SPLITS,
    ),
    ("nyu-mll/glue", "qqp"): (
        pair("question1", "question2", ("not_duplicate", "duplicate")),
        GLUE_SPLITS,
    ),
    ("nyu-mll/glue", "sst2"): (
        {"sentence": STRING, "label": ("negative", "positive"), "idx": INT32},
        GLUE_SPLITS,
    ),
    ("aps/super_glue", "boolq"): (
        {**texts("question", "passage"), "idx": INT32, "label": TRUTH},
        ALL,
    ),
    ("aps/super_glue", "wic"): (
        {
            **texts("word", "sentence1", "sentence2"),
            **dict.fromkeys(("start1", "start2", "end1", "end2", "idx"), INT32),
            "label": TRUTH,
        },
        ALL,
    ),
    ("facebook/anli", "plain_text"): (
        {**texts("uid", "premise", "hypothesis", "reason"), "label": INFERENCE},
        tuple(f"{split}_r{i}" for i in (1, 2, 3) for split in ("train", "dev", "test")),
    ),
    ("tau/commonsense_qa", "default"): (
        {**texts("id", "question", "question_concept", "answerKey"), "choices": LETTERED},
        ALL,
    ),
    ("lighteval/siqa", "default"): (
        texts("context", "question", "answerA", "answerB", "answerC", "label"),
        ("train", "validation"),
    ),
    ("allenai/winogrande", "winogrande_xl"): (
        texts("sentence", "option1", "option2", "answer"),
        ALL,
    ),
    ("allenai/openbookqa", "main"): (
        {**texts("id", "question_stem", "answerKey"), "choices": LETTERED},
        ALL,
    ),
    ("Rowan/hellaswag", "default"): (
        {
            "ind": INT32,
            **texts("activity_label", "ctx_a", "ctx_b", "ctx", "source_id"),
            **texts("split", "split_type", "label"),
            "endings": [STRING],
        },
        ALL,
    ),
    ("allenai/ai2_arc", "ARC-Easy"): (
        {**texts("id", "question", "answerKey"), "choices": LETTERED},
        ALL,
    ),
    ("allenai/ai2_arc", "ARC-Challenge"): (
        {**texts("id", "question", "answerKey"), "choices": LETTERED},
        ALL,
    ),
    ("EleutherAI/headqa", "en"): (
        {
            **texts("name", "year", "category", "qtext"),
            "qid": INT32,
            "ra": INT32,
            "answers": [{"aid": INT32, "atext": STRING}],
        },
        ALL,
    ),
    ("regisss/math_qa", "default"): (
        {
            **texts("Problem", "Rationale", "options", "correct"),
            **texts("annotated_formula", "linear_formula", "category"),
        },
        ALL,
    ),
    ("openlifescienceai/medmcqa", "default"): (
        {
            **texts("id", "question", "opa", "opb", "opc", "opd"),
            **texts("choice_type", "exp", "subject_name", "topic_name"),
            "cop": tuple("abcd"),
        },
        ALL,
    ),
    ("baber/piqa", "default"): ({**texts("goal", "sol1", "sol2"), "label": ("0", "1")}, ALL),
    ("allenai/sciq", "default"): (
        texts("question", "distractor3", "distractor1", "distractor2", "correct_answer", "support"),
        ALL,
    ),
    ("google-research-datasets/nq_open", "nq_open"): (
        {"question": STRING, "answer": [STRING]},
        ("train", "validation"),
    ),
    ("openai/gsm8k", "main"): (texts("question", "answer"), ("train", "test")),
    ("truthfulqa/truthful_qa", "multiple_choice"): (
        {"question": STRING, "mc1_targets": TARGETS, "mc2_targets": TARGETS},
        ("validation",),
    ),
    ("cais/mmlu", "anatomy"): (MMLU, ("test", "validation", "dev")),
    ("cais/mmlu", "all"): (MMLU, ("auxiliary_train", "test", "validation", "dev")),
    ("lighteval/mmlu", "anatomy"): (MMLU, ("test", "validation", "dev")),
    ("EleutherAI/wikitext_document_level", "wikitext-2-raw-v1"): ({"page": STRING}, ALL),
    ("Salesforce/wikitext", "wikitext-103-raw-v1"): ({"text": STRING}, ALL),
    ("Salesforce/wikitext", "wikitext-103-v1"): ({"text": STRING}, ALL),
    ("Magpie-Align/Magpie-Qwen2.5-Pro-1M-v0.1", "default"): (
        {"conversations": [{"from": STRING, "value": STRING}]},
        ("train",),
    ),
    ("Magpie-Align/Magpie-Qwen2-Pro-200K-English", "default"): (
        texts("instruction", "response", "difficulty"),
        ("train",),
    ),
    (
        "meta-llama/Llama-3.2-1B-Instruct-evals",
        "Llama-3.2-1B-Instruct-evals__mmlu__details",
    ): (
        {
            **texts("task_name", "subtask_name", "input_question"),
            "input_choice_list": texts(*"ABCD"),
            "input_final_prompts": [STRING],
            "input_correct_responses": [STRING],
        },
        ("latest",),
    ),
}
